/**
 * `metadata.managedFields` as text. Stored objects are parsed without it, because it is as large as half of a pod and
 * most writes leave it as it is: then its text is written again. Entries are read from the text only when ownership
 * changes, each set once for all objects that have the same one.
 */
import { optimized } from '../../switches.ts';
import type { ManagedFieldsEntry, ObjectMeta } from '../generated/types.ts';
import { JsonError } from '../text/json.ts';
import { isReadAlike, pieceChars, readLongJson } from '../text/long-json.ts';
import {
  type FieldSet,
  fieldSetText,
  keepText,
  keptText,
  readFieldSet,
  sameSet,
} from '../values/field-set.ts';
import { entryOf, type Managed, type Manager, readManaged } from '../values/managed-entry.ts';

/**
 * What separates the head of an entry from its set. It cannot be part of a name: there, quotes are escaped, and keys in
 * a set begin with a letter and a colon.
 */
const setMark = ',"fieldsType":"FieldsV1","fieldsV1":';
const subresourceMark = ',"subresource":"';
/** Before the time, which has one form. */
const timeMark = ',"time":"';
const timeChars = `${timeMark}2006-01-02T15:04:05Z"`.length;
const quote = 0x22;
const entryMarks = ['},{"manager":', '},{"operation":'] as const;

/** Stands for a list of entries in an object that is about to be written. */
export class ManagedText {
  /** The stored entries, if these differ from them in their times alone: without another change, that is no write. */
  retimed: ManagedText | undefined;
  #entries: readonly Managed[] | undefined;

  private constructor(
    /** The JSON text: `[{"manager":…}]`. */
    readonly text: string,
    entries?: readonly Managed[],
  ) {
    this.#entries = entries;
  }

  /** From text that this class wrote. */
  static stored(text: string): ManagedText {
    return new ManagedText(text);
  }

  static of(entries: readonly Managed[]): ManagedText {
    return new ManagedText(`[${entries.map(entryText).join(',')}]`, entries);
  }

  /** One Update entry of an object itself; `set` is the text of what its manager owns. */
  static ofCreator(manager: string, apiVersion: string, time: string, set: string): ManagedText {
    return new ManagedText(
      `[{"manager":${JSON.stringify(manager)},"operation":"Update","apiVersion":"${apiVersion}","time":"${time}"${setMark}${set}}]`,
    );
  }

  get entries(): readonly Managed[] {
    this.#entries ??= readEntries(this.text);
    return this.#entries;
  }

  /** The same for long ones; yields after each piece of text that was read. */
  *reading(): Generator<void, readonly Managed[]> {
    if (!this.#entries && optimized) {
      try {
        const entries: Managed[] = [];
        for (const { head, time, set } of entryParts(this.text))
          entries.push(entryOf(head, yield* readLongSet(set), time));
        this.#entries = entries;
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof JsonError)) throw error;
      }
    }
    return this.entries;
  }

  /** The entries for an encoder, which must not change them: equal sets are the same object, whose text is known. */
  get shared(): readonly ManagedFieldsEntry[] {
    try {
      if (optimized) return (this.#entries ??= splitEntries(this.text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    return this.toJSON();
  }

  toJSON(): ManagedFieldsEntry[] {
    return JSON.parse(this.text) as ManagedFieldsEntry[];
  }
}

/** The entries of an object that is about to be written. */
export const managedOf = ({ managedFields }: ObjectMeta): ManagedText | undefined => {
  const managed: unknown = managedFields;
  return managed instanceof ManagedText ? managed : undefined;
};

export function setManaged(meta: ObjectMeta, managed: ManagedText | undefined): void {
  meta.managedFields = managed as unknown as ManagedFieldsEntry[] | undefined;
}

/** Sets entries; an empty list is left out. `stored` are those of the object that is replaced. */
export function setEntries(meta: ObjectMeta, entries: readonly Managed[], stored?: ManagedText): void {
  setManaged(meta, entries.length ? replacing(stored, ManagedText.of(entries)) : undefined);
}

/** Notes whether entries differ from the stored ones in their times alone. */
export function replacing(stored: ManagedText | undefined, managed: ManagedText): ManagedText {
  if (stored && stored !== managed && sameOwnership(stored.entries, managed.entries))
    managed.retimed = stored;
  return managed;
}

/** Equal but for their times. */
const sameOwnership = (a: readonly Managed[], b: readonly Managed[]): boolean =>
  a.length === b.length &&
  a.every((entry, i) => {
    const other = b[i]!;
    return (
      entry.manager === other.manager &&
      entry.operation === other.operation &&
      entry.apiVersion === other.apiVersion &&
      entry.subresource === other.subresource &&
      sameSet(entry.fieldsV1, other.fieldsV1)
    );
  });

function entryText({ manager, operation, apiVersion, time, fieldsV1, subresource }: Managed): string {
  const head = `{${manager ? `"manager":${JSON.stringify(manager)},` : ''}"operation":"${operation}","apiVersion":${JSON.stringify(apiVersion)}`;
  const tail = subresource ? `${subresourceMark}${JSON.stringify(subresource).slice(1)}}` : '}';
  return `${head}${time ? `,"time":"${time}"` : ''}${setMark}${fieldSetText(fieldsV1)}${tail}`;
}

/**
 * Splits the text by searches, which takes a tenth of the time of parsing it. What an earlier version of Wherry stored
 * is as clients sent it: it may have another form, and is parsed.
 */
function readEntries(text: string): readonly Managed[] {
  try {
    if (optimized) return splitEntries(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return readManaged(JSON.parse(text) as ManagedFieldsEntry[]) ?? [];
}

const splitEntries = (text: string): Managed[] =>
  entryParts(text).map(({ head, time, set }) => entryOf(head, readSet(set), time));

interface EntryParts {
  readonly head: Head & Pick<Manager, 'subresource'>;
  readonly time: string | undefined;
  /** The text of the set. */
  readonly set: string;
}

function entryParts(text: string): EntryParts[] {
  const entries: EntryParts[] = [];
  let start = 1;
  for (let mark = text.indexOf(setMark); start < text.length; ) {
    if (mark < 0) throw new SyntaxError('an entry without a set');
    const from = mark + setMark.length;
    const next = text.indexOf(setMark, from);
    // The last mark before the set of the next entry is where that entry begins.
    const end = next < 0 ? text.length - 2 : Math.max(...entryMarks.map((at) => text.lastIndexOf(at, next)));
    // A set ends with a brace, a subresource with a quote.
    const hasSubresource = text.charCodeAt(end - 1) === quote;
    const below = hasSubresource ? text.lastIndexOf(subresourceMark, end) : end;
    const timed = text.startsWith(timeMark, mark - timeChars);
    const headEnd = timed ? mark - timeChars : mark;
    const { manager, operation, apiVersion } = readHead(text.slice(start, headEnd));
    const time = timed ? text.slice(headEnd + timeMark.length, mark - 1) : undefined;
    const subresource = hasSubresource ? readName(text.slice(below + subresourceMark.length - 1, end)) : '';
    const head = { manager, operation, apiVersion, subresource };
    entries.push({ head, time, set: text.slice(from, below) });
    start = end + 2;
    mark = next;
  }
  return entries;
}

type Head = Pick<Managed, 'manager' | 'operation' | 'apiVersion'>;

/** Heads that are kept, and the longest text of one. */
const headsMax = 512;
const headTextMax = 512;

const heads = new Map<string, Head>();

/** The beginning of an entry, `{"manager":…,"operation":…,"apiVersion":…`: many objects are written by few managers. */
function readHead(text: string): Head {
  const known = heads.get(text);
  if (known) return known;
  const { manager = '', operation, apiVersion, ...rest } = JSON.parse(`${text}}`) as Partial<Head>;
  if ((operation !== 'Apply' && operation !== 'Update') || !apiVersion)
    throw new SyntaxError('an entry with an unknown operation');
  if (Object.keys(rest).length) throw new SyntaxError('an entry with an unknown field');
  const head = { manager, operation, apiVersion };
  if (text.length > headTextMax) return head;
  if (heads.size >= headsMax) heads.clear();
  heads.set(text, head);
  return head;
}

const readName = (text: string): string => JSON.parse(text) as string;

/** Sets that are kept, and the longest text of one. */
const setsMax = 512;
const setTextMax = 8192;

const sets = new Map<string, FieldSet>();

/** Objects made from one template have equal sets: they are parsed once, and are the same object. */
function readSet(text: string): FieldSet {
  const known = sets.get(text);
  if (known) return known;
  const set = takenSet(JSON.parse(text), text);
  if (text.length > setTextMax) return set;
  if (sets.size >= setsMax) sets.clear();
  sets.set(text, set);
  return set;
}

function takenSet(value: unknown, text: string): FieldSet {
  const set = readFieldSet(value);
  if (!set) throw new SyntaxError('an entry whose set cannot be read');
  if (set === value) keepText(set, text);
  return set;
}

/** The same for a text that may be long; yields after each piece of it. */
function* readLongSet(text: string): Generator<void, FieldSet> {
  if (text.length <= pieceChars || !isReadAlike(text)) return readSet(text);
  const reading = readLongJson(Buffer.from(text));
  for (;;) {
    const { done, value } = reading.next();
    yield;
    if (done) return takenSet(value.value, text);
  }
}

/** Writes the texts of sets that are not known yet; yields after each. They are kept. */
export function* writingSets(entries: readonly Managed[]): Generator<void, void> {
  for (const { fieldsV1 } of entries) {
    if (keptText(fieldsV1) !== undefined) continue;
    fieldSetText(fieldsV1);
    yield;
  }
}
