/**
 * Entries: stored objects as the view holds them. The document is the JSON that a read answers and a watcher
 * receives; it is made once per write. The store keeps it without the resourceVersion, because only the
 * store knows the revision and only after the write: it is stamped in behind the uid when the change arrives.
 */

import { normalized } from '../api/encode.ts';
import type { Kind } from '../api/kind.ts';
import { selfLink } from '../api/meta.ts';
import type { ApiObject, JsonObject } from '../api/object.ts';

const uidMarker = Buffer.from('"uid":"');
const quote = 0x22;
const lineFeed = 0x0a;

/** What selectors read, kept so that an object is parsed for them once. */
interface Facets {
  readonly labels: Record<string, string> | undefined;
  readonly fields: Record<string, string>;
}

export class Entry {
  #facets: Facets | undefined;
  /** Many look at a change right after it was made; nobody should pay for those that are not looked at again. */
  #shared: WeakRef<ApiObject> | undefined;

  private constructor(
    private current: Kind,
    readonly namespace: string,
    readonly name: string,
    /** Revision of the write that made this state; 0 when it was never stored (dry run). */
    readonly revision: number,
    /** The JSON text and a line feed, as a read answers it. */
    readonly document: Buffer,
    /** Where the stamp begins and ends in the document. */
    private readonly stampStart: number,
    private readonly stampEnd: number,
  ) {}

  /** From a stored value; revision 0 leaves the resourceVersion out. */
  static of(
    { storage: kind }: Kind,
    namespace: string,
    name: string,
    value: Buffer,
    revision: number,
  ): Entry {
    const at = uidEnd(value);
    return Entry.#stamped(kind, namespace, name, value, value.length, at, at, revision);
  }

  /** Copies the first `length` bytes of a text with the part from `cutStart` to `cutEnd` replaced by a stamp. */
  static #stamped(
    kind: Kind,
    namespace: string,
    name: string,
    source: Buffer,
    length: number,
    cutStart: number,
    cutEnd: number,
    revision: number,
  ): Entry {
    const stamp = revision > 0 ? `,"resourceVersion":"${revision}"` : '';
    const stampEnd = cutStart + stamp.length;
    // Not from the shared pool: it would keep alive what was put there beside it.
    const document = Buffer.allocUnsafeSlow(length - (cutEnd - cutStart) + stamp.length + 1);
    if (source.length <= document.length) {
      // Half the calls of two copies, for the many that are written for the first time.
      document.set(source);
      document.copyWithin(stampEnd, cutEnd, length);
    } else {
      source.copy(document, 0, 0, cutStart);
      source.copy(document, stampEnd, cutEnd, length);
    }
    for (let i = 0; i < stamp.length; i++) document[cutStart + i] = stamp.charCodeAt(i);
    document[document.length - 1] = lineFeed;
    return new Entry(kind, namespace, name, revision, document, cutStart, stampEnd);
  }

  /** The kind that it is stored as. */
  get kind(): Kind {
    return this.current;
  }

  /** Its kind was replaced by another, which may have other selectable fields. */
  reread(kind: Kind): void {
    this.current = kind;
    this.#facets = undefined;
  }

  /** Length of the JSON text. */
  get length(): number {
    return this.document.length - 1;
  }

  /** The same state under another revision, as the last word on a deleted object. */
  restamped(revision: number): Entry {
    const { kind, namespace, name, document, length, stampStart, stampEnd } = this;
    return Entry.#stamped(kind, namespace, name, document, length, stampStart, stampEnd, revision);
  }

  /** Whether a value about to be stored is what is here already. */
  holds(value: Buffer): boolean {
    const { document, length, stampStart, stampEnd } = this;
    return (
      value.length === length - (stampEnd - stampStart) &&
      value.compare(document, 0, stampStart, 0, stampStart) === 0 &&
      value.compare(document, stampEnd, length, stampStart) === 0
    );
  }

  /** A fresh copy of the object, which the caller may change; in another version of its kind when asked for. */
  object(as: Kind = this.kind): ApiObject {
    const object = JSON.parse(this.document.toString('utf8')) as ApiObject;
    if (as === this.kind || !as.stored) return object;
    const converted = { ...as.stored.fromStored(object), kind: as.kind, apiVersion: as.apiVersion };
    converted.metadata = { ...object.metadata, selfLink: selfLink(as, this.namespace, this.name) };
    return normalized(as.model, converted as unknown as JsonObject) as unknown as ApiObject;
  }

  /** The object to look at. All who ask share it, so nobody may change it. */
  peek(): ApiObject {
    let object = this.#shared?.deref();
    if (!object) {
      object = this.object();
      this.#shared = new WeakRef(object);
    }
    return object;
  }

  /** Where the text after `{"kind":…,"apiVersion":…,` begins: objects inside a list go without those two. */
  get itemStart(): number {
    return itemOffset(this.kind);
  }

  get labels(): Record<string, string> | undefined {
    return this.#read().labels;
  }

  /** The value of a selectable field; '' when it is unset. */
  field(path: string): string {
    if (path === 'metadata.name') return this.name;
    if (path === 'metadata.namespace') return this.namespace;
    return this.#read().fields[path] ?? '';
  }

  #read(): Facets {
    if (!this.#facets) {
      const object = this.peek();
      const fields: Record<string, string> = {};
      for (const [path, read] of Object.entries(this.kind.selectableFields)) fields[path] = read(object);
      this.#facets = { labels: object.metadata.labels, fields };
    }
    return this.#facets;
  }
}

/** Where the uid ends in a stored value, quote included. It stands near the beginning: to search here is quicker than to call. */
function uidEnd(value: Buffer): number {
  for (let at = 0; at < value.length; at++) {
    let i = 0;
    while (i < uidMarker.length && value[at + i] === uidMarker[i]) i++;
    if (i === uidMarker.length) return value.indexOf(quote, at + i) + 1;
  }
  return 0;
}

const offsets = new WeakMap<Kind, number>();

/** Length of `{"kind":"Pod","apiVersion":"v1",`, which every stored object begins with. */
function itemOffset(kind: Kind): number {
  let offset = offsets.get(kind);
  if (offset === undefined) {
    offset = Buffer.byteLength(
      `{"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(kind.apiVersion)},`,
    );
    offsets.set(kind, offset);
  }
  return offset;
}
