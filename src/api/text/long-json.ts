/**
 * JSON text that is so long that others must be served while it is read. The text is cut at commas between members of
 * its long lists and objects; each piece is a document of its own, read as `json.ts` reads one, and what is read is put
 * together. So every bound and every message is the same.
 */
import { isUtf8 } from 'node:buffer';
import { stringEnd } from './exact-json.ts';
import {
  countKeys,
  type Duplicate,
  depthMax,
  duplicatesIn,
  JsonError,
  readPiece,
  syntaxErrorOf,
} from './json.ts';
import { type JsonObject, setKey } from './object.ts';

/** Length of a piece that is read at once; a single text or number may be longer. */
export const pieceChars = 32_768;

/** Characters around the key of an object that has a bound: quotes, a colon, blanks. */
const keyBlanksMax = 1_000;

/** Steps of a turn of the event loop that a character takes at most, where members are short. */
const charSteps = 4;

/** A list or an object that is open at the place up to which the text was read. */
interface Open {
  readonly at: number;
  readonly isObject: boolean;
  /** Where the member begins that is being read. */
  member: number;
  /** Where the members begin that are in the text but not in the value yet. */
  pending: number;
  /** Members so far; undefined while all of it is pending. */
  value: unknown[] | JsonObject | undefined;
  /** Whether the member that is being read is in the value already: it was long itself. */
  isMemberIn: boolean;
  /** Members that are still taken; the others are read and dropped. */
  left: number;
}

/** An object of which so many members are kept: to list its keys takes as long as it has, in one turn. */
export interface KeyBound {
  readonly name: string;
  readonly max: number;
}

export interface LongDocument {
  readonly value: unknown;
  /** Keys that are repeated in one object. */
  readonly duplicates: readonly Duplicate[];
}

/**
 * Whether a stored text is read here as `JSON.parse` reads it: with no surrogate that may lack its other half, which is
 * replaced in what clients send, and stored as an escape.
 */
export const isReadAlike = (stored: Buffer | string): boolean => !stored.includes('\\u');

/** Reads a text, and yields how many steps that took since. Throws as `readJson` does. */
export function* readLongJson(bytes: Buffer, bound?: KeyBound): Generator<number, LongDocument> {
  if (!isUtf8(bytes)) throw new JsonError('invalid UTF-8');
  const text = bytes.toString('utf8');
  const reader = new LongReader(text, bound);
  try {
    const value = yield* reader.read();
    return { value, duplicates: reader.hasRepeated ? yield* duplicatesIn(text) : [] };
  } catch (error) {
    if (!(error instanceof BadPiece)) throw error;
    throw new JsonError(yield* syntaxErrorOf(text));
  }
}

/** Thrown inside this module only: the text is no JSON; why is found out by looking at all of it. */
class BadPiece extends Error {}

/** White space of JSON alone; that of JavaScript has more. */
const isBlank = (text: string): boolean => !/[^ \t\n\r]/.test(text);

class LongReader {
  hasRepeated = false;
  readonly #open: Open[] = [];
  #value: unknown;
  /** Behind the outermost list or object, when that was long. */
  #end: number | undefined;

  constructor(
    private readonly text: string,
    private readonly bound: KeyBound | undefined,
  ) {}

  *read(): Generator<number, unknown> {
    const { text } = this;
    let told = 0;
    for (let at = 0; at < text.length; at += 1) {
      if (at - told >= pieceChars) {
        yield (at - told) * charSteps;
        told = at;
      }
      switch (text.charCodeAt(at)) {
        case 0x22:
          at = stringEnd(text, at);
          if (at < 0) throw new BadPiece();
          break;
        case 0x7b:
        case 0x5b:
          this.#begin(at);
          break;
        case 0x2c:
          this.#comma(at);
          break;
        case 0x7d:
        case 0x5d:
          this.#finish(at);
          break;
      }
    }
    if (this.#end === undefined) return this.#piece(text);
    if (this.#open.length > 0 || !isBlank(text.slice(this.#end))) throw new BadPiece();
    return this.#value;
  }

  #begin(at: number): void {
    if (this.#open.length >= depthMax) throw new JsonError('exceeded max depth');
    const isObject = this.text.charCodeAt(at) === 0x7b;
    const left = isObject ? this.#boundAt(at) : Number.POSITIVE_INFINITY;
    const place = { member: at + 1, pending: at + 1 };
    this.#open.push({ at, isObject, ...place, value: undefined, isMemberIn: false, left });
  }

  /** How many members the object at a place may have. */
  #boundAt(at: number): number {
    const around = this.#open.at(-1);
    const { bound } = this;
    if (!bound || !around?.isObject || at - around.member > bound.name.length + keyBlanksMax)
      return Number.POSITIVE_INFINITY;
    return this.text.slice(around.member, at).includes(`"${bound.name}"`)
      ? bound.max
      : Number.POSITIVE_INFINITY;
  }

  #comma(at: number): void {
    const open = this.#open.at(-1);
    if (!open) throw new BadPiece();
    if (open.isMemberIn || at - open.pending >= pieceChars) this.#take(open, at);
    open.member = at + 1;
  }

  #finish(at: number): void {
    const open = this.#open.pop();
    if (open?.isObject !== (this.text.charCodeAt(at) === 0x7d)) throw new BadPiece();
    // It is short, and stays a part of what is around it.
    if (!open.value) return;
    this.#take(open, at);
    const around = this.#open.at(-1);
    if (around) return this.#putLong(around, open, at + 1);
    if (this.#end !== undefined || !isBlank(this.text.slice(0, open.at))) throw new BadPiece();
    this.#value = open.value;
    this.#end = at + 1;
  }

  /** Puts a long list or object into the one around it, after what is pending there. */
  #putLong(around: Open, { at, value }: Open, end: number): void {
    if (around.isMemberIn) throw new BadPiece();
    if (around.member > around.pending) this.#take(around, around.member - 1);
    around.value ??= around.isObject ? {} : [];
    const before = this.text.slice(around.member, at);
    if (around.isObject) {
      const [key] = Object.keys(this.#piece(`{${before}0}`) as JsonObject);
      this.#set(around.value as JsonObject, key!, value);
    } else if (isBlank(before)) (around.value as unknown[]).push(value);
    else throw new BadPiece();
    around.isMemberIn = true;
    around.pending = end;
  }

  /** Puts what is pending, up to a place, into the value. */
  #take(open: Open, end: number): void {
    const pending = this.text.slice(open.pending, end);
    open.pending = end + 1;
    if (open.isMemberIn) {
      open.isMemberIn = false;
      if (!isBlank(pending)) throw new BadPiece();
      return;
    }
    if (isBlank(pending)) throw new BadPiece();
    if (open.isObject) {
      const part = this.#piece(`{${pending}}`) as JsonObject;
      const whole = (open.value ??= {}) as JsonObject;
      for (const key of Object.keys(part)) if (open.left-- > 0) this.#set(whole, key, part[key]);
    } else {
      const whole = (open.value ??= []) as unknown[];
      for (const item of this.#piece(`[${pending}]`) as unknown[]) whole.push(item);
    }
  }

  #set(object: JsonObject, key: string, value: unknown): void {
    this.hasRepeated ||= Object.hasOwn(object, key);
    setKey(object, key, value);
  }

  #piece(text: string): unknown {
    const document = readPiece(text);
    if (!document) throw new BadPiece();
    const { value, keyCount } = document;
    this.hasRepeated ||= countKeys(value) !== keyCount;
    return value;
  }
}
