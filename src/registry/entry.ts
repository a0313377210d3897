/**
 * Entries: stored objects as the view holds them. The document is the JSON text that reads and watches send; it is
 * made once per write. The stored bytes have no resourceVersion, because the revision is known only after the write:
 * it is inserted behind the uid when the change arrives.
 */

import { normalized } from '../api/encode.ts';
import { parseExact } from '../api/exactjson.ts';
import type { Kind } from '../api/kind.ts';
import { ManagedText } from '../api/managedtext.ts';
import { selfLink } from '../api/meta.ts';
import { type ApiObject, freezeJson, type JsonObject } from '../api/object.ts';
import { Memo } from '../memo.ts';
import { asserting, optimized } from '../switches.ts';
import { isSealed, withoutConfiguration } from './encryption/unreadable.ts';
import { managedSpan, type Span } from './managedspan.ts';
import { metadataText } from './metadatatext.ts';
import { stamped, uidEnd } from './stamp.ts';

const comma = 0x2c;
const quote = 0x22;
const [letterC, letterD, letterG] = Buffer.from('cdg');
/** A part of `ownerReferences`: a search is three times as fast for text that begins with a rare character. */
const referencesMark = Buffer.from('References"');

/** Labels and fields for selectors, cached so that an object is parsed for them once. */
interface Facets {
  readonly labels: Record<string, string> | undefined;
  readonly fields: Record<string, string>;
}

export class Entry {
  #facets: Facets | undefined;
  #mayHaveOwners: boolean | undefined;
  /** Where the managed fields are; null until that is asked for. */
  #managedSpan: Span | undefined | null = null;
  /**
   * The object as it was parsed last, because controllers, admission and selectors usually read a change right after
   * it was made.
   */
  #shared: WeakRef<ApiObject> | undefined;

  private constructor(
    private current: Kind,
    readonly namespace: string,
    readonly name: string,
    /** Revision of the write that made this state; 0 when it was never stored (dry run). */
    readonly revision: number,
    /** The JSON text and a line feed, as sent to clients. */
    readonly document: Buffer,
    /** Where the inserted resourceVersion begins and ends in the document. */
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
    // Stop: without a uid the resourceVersion would be inserted at a wrong place, and clients would get broken JSON.
    if (at === undefined && isSealed(value)) throw withoutConfiguration(kind.id, value);
    if (at === undefined)
      throw new Error(`a stored object has no uid: ${kind.resource} ${namespace}/${name}`);
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
    const document = stamped(source, length, cutStart, cutEnd, stamp);
    return new Entry(kind, namespace, name, revision, document, cutStart, cutStart + stamp.length);
  }

  /** The kind as which the object is stored. */
  get kind(): Kind {
    return this.current;
  }

  /** The kind was replaced, so the cached selectable fields may be wrong. */
  reread(kind: Kind): void {
    this.current = kind;
    this.#facets = undefined;
  }

  /** Read from the text, in which the stamp stands right behind it: that takes no parsing. */
  get uid(): string {
    const end = this.stampStart - 1;
    return this.document.toString('latin1', this.document.lastIndexOf(quote, end - 1) + 1, end);
  }

  /** Length of the JSON text. */
  get length(): number {
    return this.document.length - 1;
  }

  /** The same state under another revision, for the DELETED event of an object. */
  restamped(revision: number): Entry {
    const { kind, namespace, name, document, length, stampStart, stampEnd } = this;
    return Entry.#stamped(kind, namespace, name, document, length, stampStart, stampEnd, revision);
  }

  /** Whether a value about to be stored equals this one. */
  holds(value: Buffer): boolean {
    const { document, length, stampStart, stampEnd } = this;
    return (
      value.length === length - (stampEnd - stampStart) &&
      value.compare(document, 0, stampStart, 0, stampStart) === 0 &&
      value.compare(document, stampEnd, length, stampStart) === 0
    );
  }

  /**
   * Whether a value about to be stored equals this one but for its managed fields. Both have some; `managedBytes` is the
   * length of those in the value.
   */
  holdsRest(value: Buffer, managedBytes: number): boolean {
    const { document, length, stampStart, stampEnd } = this;
    const span = this.#span();
    if (!span) return false;
    const listStart = span.listStart - (stampEnd - stampStart);
    const end = listStart + managedBytes;
    return (
      value.length - end === length - span.end &&
      value.compare(document, span.end, length, end) === 0 &&
      value.compare(document, 0, stampStart, 0, stampStart) === 0 &&
      value.compare(document, stampEnd, span.listStart, stampStart, listStart) === 0
    );
  }

  /** `metadata.managedFields`, which neither `object` nor `peek` has; undefined when there are none. */
  get managed(): ManagedText | undefined {
    // Parsing shows whether it can be left out.
    if (this.#managedSpan === null) this.peek();
    const span = this.#span();
    return span && ManagedText.stored(this.document.toString('utf8', span.listStart, span.end));
  }

  /** The object as clients see it, with its managed fields; converted to another version of its kind on request. */
  shown(as: Kind = this.kind): ApiObject {
    const object = this.object(as);
    const { managed } = this;
    if (managed) object.metadata.managedFields = managed.toJSON();
    return object;
  }

  /**
   * A fresh copy of the object, which the caller may change; converted to another version of its kind on request. Managed
   * fields are left out: few need them, and parsing them takes as long as a third of a pod.
   */
  object(as: Kind = this.kind): ApiObject {
    const object = this.#parsed();
    if (as === this.kind || !as.stored) return object;
    const converted = { ...as.stored.fromStored(object), kind: as.kind, apiVersion: as.apiVersion };
    converted.metadata = { ...object.metadata, selfLink: selfLink(as, this.namespace, this.name) };
    return normalized(as.model, converted as unknown as JsonObject) as unknown as ApiObject;
  }

  #parsed(): ApiObject {
    const { document } = this;
    const span = optimized ? this.#span() : undefined;
    if (span)
      try {
        const text = document.toString('utf8', 0, span.start) + document.toString('utf8', span.end);
        return parseExact(text) as ApiObject;
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        // Stored by an earlier version as a client sent it, and not as entries are written: it counts as none.
        this.#managedSpan = undefined;
      }
    const object = parseExact(document.toString('utf8')) as ApiObject;
    delete object.metadata.managedFields;
    return object;
  }

  #span(): Span | undefined {
    if (this.#managedSpan === null)
      this.#managedSpan = managedSpan(this.document, this.length, this.stampEnd);
    return this.#managedSpan;
  }

  /**
   * The parsed object, shared by all callers, which must not change it: with `WHERRY_ASSERT=1` it is frozen. Lists by
   * label of 1,000 pods, one of which changes with every 16th request, went from 6.7 to 0.5 ms.
   */
  peek(): ApiObject {
    let object = optimized ? this.#shared?.deref() : undefined;
    if (!object) {
      object = this.object();
      if (asserting) freezeJson(object);
      if (optimized) this.#shared = new WeakRef(object);
    }
    return object;
  }

  /**
   * False: the object has no owners. Found by a search of the JSON text, without parsing; cached, because it reads
   * the whole text.
   */
  get mayHaveOwners(): boolean {
    this.#mayHaveOwners ??= this.document.includes(referencesMark);
    return this.#mayHaveOwners;
  }

  /**
   * False: the object is not being deleted. Found without parsing: in the order in which metadata is written, only
   * generation and creationTimestamp come between the resourceVersion and deletionTimestamp.
   */
  get mayBeMarked(): boolean {
    const { document } = this;
    for (let at = this.stampEnd; document[at] === comma; ) {
      const letter = document[at + 2];
      if (letter === letterD) return true;
      if (letter !== letterG && letter !== letterC) return false;
      do at++;
      while (at < document.length && document[at] !== comma);
    }
    return false;
  }

  /** Where the text after `{"kind":…,"apiVersion":…,` begins: items of a list have neither field. */
  get itemStart(): number {
    return itemOffsets.of(this.kind);
  }

  /** The metadata in the JSON text; undefined when it is not where all kinds have it. */
  get metadataText(): Buffer | undefined {
    return metadataText(this.document, this.itemStart);
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
    if (!this.#facets || !optimized) {
      const object = this.peek();
      const fields: Record<string, string> = {};
      for (const [path, read] of Object.entries(this.kind.selectableFields)) fields[path] = read(object);
      this.#facets = { labels: object.metadata.labels, fields };
    }
    return this.#facets;
  }
}

/** Length of `{"kind":"Pod","apiVersion":"v1",`, which every stored object begins with. */
const itemOffsets = new Memo(({ kind, apiVersion }: Kind) =>
  Buffer.byteLength(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
);
