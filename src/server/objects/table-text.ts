/**
 * Tables as text, joined from cached rows (`registry/view/forms.ts`): a row is computed once per version of its object,
 * and only relative times (ages) are filled in for each table. The object of a row is copied from the stored text.
 */

import type { Kind } from '../../api/kind/kind.ts';
import { RowTemplate } from '../../api/kind/row-template.ts';
import { cellsOf, columnDefinitions, type IncludeObject } from '../../api/kind/table.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { Memo } from '../../memo.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Form } from '../../registry/view/forms.ts';
import { copyBytes } from '../../shared-bytes.ts';

interface KeptRow {
  readonly template: RowTemplate;
  /** JSON text; a view of the entry's, unless the kind is another version. */
  readonly metadata: Buffer;
}

const rowForms = new Memo(
  (kind: Kind) =>
    new Form(
      (entry): KeptRow => {
        let object = entry.object(kind);
        const shared = kind === entry.kind ? entry.metadataText : undefined;
        if (!shared) object = entry.shown(kind);
        return {
          template: new RowTemplate(cellsOf(kind, object), kind.rowConditions?.(object)),
          metadata: shared ?? Buffer.from(jsonText(object.metadata)),
        };
      },
      ({ template }) => template.bytesMax,
    ),
);

/** Rows made in one event loop tick. */
const partRows = 250;
const partBytes = 256 * 1024;

export class TableText {
  readonly #form: Form<KeptRow>;
  /** The text before the metadata in a row's object. */
  readonly #objectStart: Buffer;

  constructor(
    private readonly kind: Kind,
    private readonly version: string,
    private readonly include: IncludeObject,
    private readonly nowMs: number,
  ) {
    this.#form = rowForms.of(kind);
    this.#objectStart = Buffer.from(
      include === 'Metadata' ? `{"kind":"PartialObjectMetadata","apiVersion":"${version}","metadata":` : '',
    );
  }

  /** The whole table in parts; each is built when the previous one has been sent. */
  *parts(metadata: object, entries: readonly Entry[]): Generator<Buffer, void, undefined> {
    yield this.#head(metadata, columnDefinitions(this.kind));
    for (let from = 0; from < entries.length; ) {
      let to = from;
      for (let bytes = 0; to < entries.length && to - from < partRows && bytes < partBytes; to++)
        bytes += entries[to]!.length;
      yield this.#rows(entries, from, to);
      from = to;
    }
    yield tableEnd;
  }

  /** A table of one row without a line feed; in a watch, only the first has columns. */
  one(entry: Entry, withColumns: boolean): Buffer {
    const metadata = entry.revision > 0 ? { resourceVersion: String(entry.revision) } : {};
    const head = this.#head(metadata, withColumns ? columnDefinitions(this.kind) : null);
    return Buffer.concat([head, this.#rows([entry], 0, 1), tableEnd.subarray(0, -1)]);
  }

  #head(metadata: object, columns: object | null): Buffer {
    const head = { kind: 'Table', apiVersion: this.version, metadata, columnDefinitions: columns };
    return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  }

  /** Some of the rows, with a comma behind each but the last of all. */
  #rows(entries: readonly Entry[], from: number, to: number): Buffer {
    const rows: { readonly template: RowTemplate; readonly object: Buffer }[] = [];
    let bytesMax = 0;
    for (let i = from; i < to; i++) {
      const { template, metadata } = this.#form.of(entries[i]!);
      const object = this.include === 'Metadata' ? metadata : this.#object(entries[i]!);
      rows.push({ template, object });
      bytesMax += template.bytesMax + this.#objectStart.length + object.length + rowEndBytesMax;
    }
    const text = Buffer.allocUnsafe(bytesMax);
    let at = 0;
    for (let i = from; i < to; i++) {
      const { template, object } = rows[i - from]!;
      at = template.write(text, at, this.nowMs);
      at += this.#objectStart.copy(text, at);
      at = copyBytes(object, text, at);
      if (this.include === 'Metadata') text[at++] = closeBrace;
      text[at++] = closeBrace;
      if (i < entries.length - 1) text[at++] = comma;
    }
    return text.subarray(0, at);
  }

  #object(entry: Entry): Buffer {
    if (this.include === 'None') return none;
    return this.kind === entry.kind
      ? entry.document.subarray(0, entry.length)
      : Buffer.from(jsonText(entry.shown(this.kind)));
  }
}

const tableEnd = Buffer.from(']}\n');
const none = Buffer.from('null');
const closeBrace = 0x7d;
const comma = 0x2c;
const rowEndBytesMax = 3;
