/**
 * Entries: stored objects as the view holds them. The document is the JSON text that reads and watches send; it is
 * made once per write. The stored bytes have no resourceVersion, because the revision is known only after the write:
 * it is inserted behind the uid when the change arrives.
 */

import type { ManagedFieldsEntry } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { selfLink } from '../../api/kind/meta.ts';
import { encodeObject, normalized } from '../../api/model/encode.ts';
import { ManagedText } from '../../api/model/managed-text.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import { JsonError } from '../../api/text/json.ts';
import { isReadAlike, readLongJson } from '../../api/text/long-json.ts';
import { type ApiObject, freezeJson, type JsonObject } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import { Slabs } from '../../store/slab.ts';
import { asserting, optimized } from '../../switches.ts';
import { managedSpan, type Span } from './managed-span.ts';
import { metadataMark, metadataText } from './metadata-text.ts';
import { keepRecent } from './recent-objects.ts';
import { stamped, uidEnd } from './stamp.ts';
import { isSealed, withoutConfiguration } from './unreadable.ts';

/** This field comes before the uid. */
const linkMarker = '"selfLink":"';

const comma = 0x2c;
const quote = 0x22;
const [letterC, letterD, letterG] = Buffer.from('cdg');
/** A part of `ownerReferences`: a search is three times as fast for text that begins with a rare character. */
const referencesMark = Buffer.from('References"');

/**
 * Memory for the texts of objects that are loaded. It is given back when all objects that share 64 KB of it were changed
 * or deleted; so in the worst case, with one in thirty that never is, texts take twice their bytes.
 */
const loaded = new Slabs();
const takeLoaded = (bytes: number): Buffer => loaded.take(bytes);

/** Labels and fields for selectors, cached so that an object is parsed for them once. */
interface Facets {
  readonly labels: Record<string, string> | undefined;
  readonly fields: Record<string, string>;
}

export class Entry {
  /** It may have been stored under an earlier definition of its kind: the text is brought up to date when it is read. */
  #isDoubtful = false;
  /** The text was brought up to date, and is not the one that is stored. */
  #isRenewed = false;
  /** It is stored as another version, from which only a webhook can convert it. */
  #isForeign = false;
  /** The text as another version, converted by a webhook. */
  #converted: { readonly kind: Kind; readonly text: string } | undefined;
  #facets: Facets | undefined;
  /** Fields of the object as another version. */
  #foreignFields: { readonly kind: Kind; readonly fields: Facets['fields'] } | undefined;
  #mayHaveOwners: boolean | undefined;
  /** Where the managed fields are; null until that is asked for. */
  #managedSpan: Span | undefined | null = null;
  /** Where the metadata ends in the text; 0 until that is asked for. */
  #metadataEnd = 0;
  /** The parsed object, while it is among the recent ones (`recent-objects.ts`). */
  #shared: ApiObject | undefined;

  private constructor(
    private current: Kind,
    readonly namespace: string,
    readonly name: string,
    /** Revision of the write that made this state; 0 when it was never stored (dry run). */
    readonly revision: number,
    private text: Buffer,
    /** Where the inserted resourceVersion begins and ends in the text. */
    private stampStart: number,
    private stampEnd: number,
  ) {}

  /** From a stored value; revision 0 leaves the resourceVersion out. */
  static of(
    { storage: kind }: Kind,
    namespace: string,
    name: string,
    value: Buffer,
    revision: number,
    take?: (bytes: number) => Buffer,
  ): Entry {
    const at = uidEnd(value);
    // Stop: without a uid the resourceVersion would be inserted at a wrong place, and clients would get broken JSON.
    if (at === undefined && isSealed(value)) throw withoutConfiguration(kind.id, value);
    if (at === undefined)
      throw new Error(`a stored object has no uid: ${kind.resource} ${namespace}/${name}`);
    const entry = Entry.#stamped(kind, namespace, name, value, value.length, at, at, revision, take);
    if (kind.refresh) entry.#doubt(!startsAs(value, kind));
    return entry;
  }

  /** From a value that may have been stored under another definition of its kind. */
  static found(
    kind: Kind,
    namespace: string,
    name: string,
    value: Buffer,
    revision: number,
    take?: (bytes: number) => Buffer,
  ): Entry {
    const entry = Entry.of(kind, namespace, name, value, revision, take);
    if (kind.refresh) entry.#doubt(true);
    return entry;
  }

  /** The same for an object that is loaded with many others, in memory that it shares with them. */
  static loaded(kind: Kind, namespace: string, name: string, value: Buffer, revision: number): Entry {
    return Entry.found(kind, namespace, name, value, revision, takeLoaded);
  }

  #doubt(isDoubtful: boolean): void {
    this.#isForeign = this.current.conversion !== undefined && !startsAs(this.text, this.current);
    this.#isDoubtful = isDoubtful && !this.#isForeign;
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
    take?: (bytes: number) => Buffer,
  ): Entry {
    const stamp = revision > 0 ? `,"resourceVersion":"${revision}"` : '';
    const text = stamped(source, length, cutStart, cutEnd, stamp, take);
    return new Entry(kind, namespace, name, revision, text, cutStart, cutStart + stamp.length);
  }

  /** The JSON text and a line feed, as sent to clients. */
  get document(): Buffer {
    if (this.#isDoubtful) this.#renew();
    return this.text;
  }

  #renew(): void {
    const { current: kind } = this;
    const object = parseExact(this.text.toString('utf8')) as ApiObject;
    kind.refresh!(object);
    this.adopt(object, this.#link(kind));
  }

  /** Whether `object(as)` can be called now; if not, `keepConverted` has to be called before. */
  isReadableAs(as: Kind): boolean {
    return as === this.current ? !this.#isForeign : !as.conversion || this.#converted?.kind === as;
  }

  /** The object as it is stored, in whatever version. */
  stored(): ApiObject {
    return parseExact(this.text.toString('utf8')) as ApiObject;
  }

  /** Takes a converted object. */
  keepConverted(as: Kind, object: ApiObject): void {
    as.refresh?.(object);
    const link = this.#link(as);
    if (as === this.current) return this.adopt(object, link);
    const whole = { ...object, kind: as.kind, apiVersion: as.apiVersion };
    whole.metadata = { ...object.metadata, selfLink: link };
    this.#converted = { kind: as, text: encodeObject(as.model, whole as unknown as JsonObject) };
  }

  /** Takes the text of an object that was brought up to date, unless it is the stored text. */
  adopt(object: ApiObject, link: string | undefined): void {
    const { current: kind, revision } = this;
    object.kind = kind.kind;
    object.apiVersion = kind.apiVersion;
    object.metadata = { ...object.metadata, selfLink: link, resourceVersion: undefined };
    const value = Buffer.from(encodeObject(kind.model, object as unknown as JsonObject));
    this.#isDoubtful = false;
    this.#isForeign = false;
    if (!this.#isRenewed && this.holds(value)) return;
    const at = uidEnd(value)!;
    const stamp = this.stampEnd > this.stampStart ? `,"resourceVersion":"${revision}"` : '';
    this.text = stamped(value, value.length, at, at, stamp);
    this.stampStart = at;
    this.stampEnd = at + stamp.length;
    this.#metadataEnd = 0;
    this.#managedSpan = null;
    this.#isRenewed = true;
    this.#shared = undefined;
  }

  /** The path of the object as another version; undefined where objects are stored without. */
  #link(as: Kind): string | undefined {
    const isLinked = this.text.subarray(0, this.stampStart).includes(linkMarker);
    return isLinked ? selfLink(as, this.namespace, this.name) : undefined;
  }

  /** The kind as which the object is stored. */
  get kind(): Kind {
    return this.current;
  }

  /** The kind was replaced, so the cached selectable fields may be wrong. */
  reread(kind: Kind): void {
    this.current = kind;
    this.#facets = undefined;
    this.#foreignFields = undefined;
    this.#shared = undefined;
    this.#converted = undefined;
    this.#metadataEnd = 0;
    if (kind.refresh) this.#doubt(true);
  }

  /** Read from the text, in which the stamp stands right behind it: that takes no parsing. */
  get uid(): string {
    const end = this.stampStart - 1;
    return this.text.toString('latin1', this.text.lastIndexOf(quote, end - 1) + 1, end);
  }

  /** Length of the JSON text. */
  get length(): number {
    return this.document.length - 1;
  }

  /** The same state under another revision, for the DELETED event of an object. */
  restamped(revision: number): Entry {
    // The text first: reading it may move the stamp.
    const { document, length } = this;
    const { kind, namespace, name, stampStart, stampEnd } = this;
    return Entry.#stamped(kind, namespace, name, document, length, stampStart, stampEnd, revision);
  }

  /** Whether a value about to be stored equals this one. */
  holds(value: Buffer): boolean {
    const { document, length, stampStart, stampEnd } = this;
    // The stored text is another one, which is to be replaced with the next write.
    if (this.#isRenewed) return false;
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

  /** `metadata.managedFields`, which neither `object` nor `peek` has; undefined for an object without. */
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

  /** The same for an encoder, which must not change its managed fields. */
  encodable(as: Kind): ApiObject {
    const object = this.object(as);
    const { managed } = this;
    if (managed) object.metadata.managedFields = managed.shared as ManagedFieldsEntry[];
    return object;
  }

  /**
   * A fresh copy of the object, which the caller may change; converted to another version of its kind on request. Managed
   * fields are left out: few need them, and parsing them takes as long as a third of a pod.
   */
  object(as: Kind = this.kind): ApiObject {
    if (as !== this.kind && this.#converted?.kind === as)
      return parseExact(this.#converted.text) as ApiObject;
    const object = this.#parsed();
    if (as === this.kind || !as.stored) return object;
    if (as.conversion) throw new Error(`a ${as.kind} was not converted before it was read`);
    const converted = { ...as.stored.fromStored(object), kind: as.kind, apiVersion: as.apiVersion };
    converted.metadata = { ...converted.metadata, selfLink: this.#link(as) };
    return normalized(as.model, converted as unknown as JsonObject) as unknown as ApiObject;
  }

  /** Reads a long object, so that `peek` has it at once; yields how many steps that took since. */
  *reading(): Generator<number, void> {
    const { document, current: kind } = this;
    if (this.#shared || !optimized || !isReadAlike(document)) return;
    const span = this.#span();
    try {
      const text = span
        ? Buffer.concat([document.subarray(0, span.start), document.subarray(span.end)])
        : document;
      const object = (yield* readLongJson(text)).value as ApiObject;
      if (this.#shared || this.current !== kind || this.document !== document) return;
      if (!span) delete object.metadata.managedFields;
      this.#share(object);
    } catch (error) {
      // Stored by an earlier version as a client sent it: it is read as a whole.
      if (!(error instanceof JsonError)) throw error;
    }
  }

  #parsed(): ApiObject {
    const { document } = this;
    const span = this.#span();
    if (span)
      try {
        const text = document.toString('utf8', 0, span.start) + document.toString('utf8', span.end);
        const rest = parseExact(text) as ApiObject;
        if (optimized) return rest;
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
    return this.#shared ?? this.#share(this.object());
  }

  #share(object: ApiObject): ApiObject {
    if (asserting) freezeJson(object);
    if (optimized) {
      this.#shared = object;
      keepRecent(this);
    }
    return object;
  }

  /** Drops the parsed object that readers share. */
  forget(): void {
    this.#shared = undefined;
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

  /**
   * Where the text after `{"kind":…,"apiVersion":…,` begins: items of a list have neither field, except those of custom
   * kinds.
   */
  get itemStart(): number {
    return itemOffsets.of(this.kind);
  }

  /** The metadata in the JSON text; undefined when it is not where all kinds have it. */
  get metadataText(): Buffer | undefined {
    const { document } = this;
    const start = versionStarts.of(this.kind).length;
    // The text is searched once: every list of metadata, and every table, has it.
    if (this.#metadataEnd > 0) return document.subarray(start + metadataMark.length, this.#metadataEnd);
    // Parsing shows whether the managed fields can be skipped.
    const found = metadataText(document, start, this.#managedSpan ?? undefined);
    if (found && optimized) this.#metadataEnd = start + metadataMark.length + found.length;
    return found;
  }

  /** Bytes that have to be parsed before labels and fields are known; 0 when they are. */
  get unreadBytes(): number {
    return this.#facets || !optimized ? 0 : this.text.length;
  }

  get labels(): Record<string, string> | undefined {
    return this.#read().labels;
  }

  /** The value of a selectable field, also of another version; '' when it is unset. */
  field(path: string, as: Kind = this.kind): string {
    if (path === 'metadata.name') return this.name;
    if (path === 'metadata.namespace') return this.namespace;
    if (as !== this.kind) return this.#fieldsAs(as)[path] ?? '';
    return this.#read().fields[path] ?? this.kind.otherField?.(this.peek(), path) ?? '';
  }

  #fieldsAs(as: Kind): Record<string, string> {
    if (this.#foreignFields?.kind !== as || !optimized)
      this.#foreignFields = { kind: as, fields: fieldsOf(as, this.object(as)) };
    return this.#foreignFields.fields;
  }

  #read(): Facets {
    if (!this.#facets || !optimized) {
      const object = this.peek();
      this.#facets = { labels: object.metadata.labels, fields: fieldsOf(this.kind, object) };
    }
    return this.#facets;
  }
}

function fieldsOf(kind: Kind, object: ApiObject): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [path, read] of Object.entries(kind.selectableFields)) fields[path] = read(object);
  return fields;
}

/** Whether a stored text was written as this version of the kind. */
function startsAs(value: Buffer, kind: Kind): boolean {
  const start = versionStarts.of(kind);
  return start.compare(value, 0, start.length) === 0;
}

const versionStarts = new Memo(({ kind, apiVersion }: Kind) =>
  Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
);

/** Length of `{"kind":"Pod","apiVersion":"v1",`, which every stored object begins with. */
const itemOffsets = new Memo((kind: Kind) => (kind.custom ? 1 : versionStarts.of(kind).length));
