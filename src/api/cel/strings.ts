/** Strings and patterns: the strings extension of CEL, and `find`, `findAll` of Kubernetes. */
import { compileRegexp, type GoRegexp, RegexpError } from '../goregexp.ts';
import { bounded, format } from './formatting.ts';
import { define, type Overload, product, walk, walkFirst } from './functions.ts';
import { matchCost } from './standard.ts';
import { CelError, ItemList, isFlat, type ListValue } from './values.ts';

/** Positions count characters: strings with surrogates are split up first. */
class Characters {
  readonly #text: string;
  readonly #parts: readonly string[] | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#parts = isFlat(text) ? undefined : Array.from(text);
  }

  get length(): number {
    return this.#parts?.length ?? this.#text.length;
  }

  slice(from: number, to: number): string {
    return this.#parts === undefined ? this.#text.slice(from, to) : this.#parts.slice(from, to).join('');
  }

  /** The character position of a position in UTF-16 units, and the other way round. */
  position(unit: number): number {
    return this.#parts === undefined || unit < 0 ? unit : Array.from(this.#text.slice(0, unit)).length;
  }
  unit(position: number): number {
    return this.#parts === undefined ? position : this.#parts.slice(0, position).join('').length;
  }
}

function inRange(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new CelError(`index out of range: ${index}`);
  return Number(index);
}

function indexOf(text: string, part: string, from = 0n): bigint {
  const characters = new Characters(text);
  if (from < 0n) throw new CelError(`index out of range: ${from}`);
  if (part === '') return from;
  if (from > BigInt(characters.length)) return -1n;
  return BigInt(characters.position(text.indexOf(part, characters.unit(Number(from)))));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const characters = new Characters(text);
  if (from !== undefined && from < 0n) throw new CelError(`index out of range: ${from}`);
  const last = BigInt(characters.length);
  if (part === '') return from === undefined || from > last ? last : from;
  const start = from === undefined || from > last ? text.length : characters.unit(Number(from));
  return BigInt(characters.position(text.lastIndexOf(part, start)));
}

function replace(text: string, from: string, to: string, limit = -1n): string {
  const parts = from === '' ? ['', ...Array.from(text), ''] : text.split(from);
  const places = parts.length - 1;
  const count = limit < 0n || limit > BigInt(places) ? places : Number(limit);
  bounded(text.length + count * to.length);
  let out = parts[0] as string;
  for (let index = 1; index < parts.length; index++) out += (index <= count ? to : from) + parts[index];
  return out;
}

function split(text: string, separator: string, limit = -1n): ListValue {
  if (limit === 0n) return new ItemList([]);
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return new ItemList(parts);
  const kept = Number(limit) - 1;
  return new ItemList([...parts.slice(0, kept), parts.slice(kept).join(separator)]);
}

function join(list: ListValue, separator = ''): string {
  const parts: string[] = [];
  let chars = 0;
  for (const part of list) {
    if (typeof part !== 'string') throw new CelError('no such overload');
    chars += part.length + separator.length;
    bounded(chars);
    parts.push(part);
  }
  return parts.join(separator);
}

function substring(text: string, start: bigint, end?: bigint): string {
  const characters = new Characters(text);
  const from = inRange(start, characters.length);
  if (end === undefined) return characters.slice(from, characters.length);
  const to = inRange(end, characters.length);
  if (from > to) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  return characters.slice(from, to);
}

const asciiUpper = (text: string): string => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
const asciiLower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** As Go writes a string literal: quotes, backslashes and control characters are escaped. */
function quote(text: string): string {
  const escapes: Record<string, string> = {
    '\x07': '\\a',
    '\b': '\\b',
    '\f': '\\f',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\v': '\\v',
    '\\': '\\\\',
    '"': '\\"',
  };
  return `"${text.replace(/[\x07\b\f\n\r\t\v\\"]/g, (character) => escapes[character] ?? character)}"`;
}

/** Unicode's blanks, which `trim` takes off. */
const blank = '[\\s\\u0085\\u180e]';
const leading = new RegExp(`^${blank}+`);
const trailing = new RegExp(`(?<!${blank})${blank}+$`);

function illegalRegexp(pattern: string): GoRegexp {
  try {
    return compileRegexp(pattern);
  } catch (error) {
    if (error instanceof RegexpError) throw new CelError(`Illegal regex: ${error.message}`);
    throw error;
  }
}

function findAll(text: string, pattern: string, limit = -1n): ListValue {
  const expression = illegalRegexp(pattern);
  return new ItemList(limit < 0n ? expression.findAll(text) : expression.findAll(text, Number(limit)));
}

const sameSize = ([size = 0]: readonly number[]): number => size;
const walked = { cost: walkFirst, resultSize: sameSize };
const replaced = {
  cost: walkFirst,
  resultSize: ([text = 0, , to = 0]: readonly number[]) => product(text + 1, Math.max(1, to)),
};
const searched = {
  cost: ([text = 0, part = 0]: readonly number[]) => product(walk(text), Math.max(1, walk(part))),
};
const found = { cost: matchCost, resultSize: sameSize };

export const stringLibrary = (): readonly Overload[] => [
  define(
    'string.charAt(int): string',
    (text: string, index: bigint) => {
      const characters = new Characters(text);
      const at = inRange(index, characters.length);
      return characters.slice(at, at + 1);
    },
    { cost: () => 1, resultSize: () => 4 },
  ),
  define('string.indexOf(string): int', indexOf, searched),
  define('string.indexOf(string, int): int', indexOf, searched),
  define('string.lastIndexOf(string): int', lastIndexOf, searched),
  define('string.lastIndexOf(string, int): int', lastIndexOf, searched),
  define('string.lowerAscii(): string', asciiLower, walked),
  define('string.upperAscii(): string', asciiUpper, walked),
  define('string.replace(string, string): string', replace, replaced),
  define('string.replace(string, string, int): string', replace, replaced),
  define('string.split(string): list(string)', split, walked),
  define('string.split(string, int): list(string)', split, walked),
  define('string.substring(int): string', substring, walked),
  define('string.substring(int, int): string', substring, walked),
  define('string.trim(): string', (text: string) => text.replace(leading, '').replace(trailing, ''), walked),
  define('string.format(list(dyn)): string', format, { cost: walkFirst }),
  define('list(string).join(): string', join, { cost: sameSize }),
  define('list(string).join(string): string', join, { cost: sameSize }),
  define('strings.quote(string): string', quote, {
    cost: walkFirst,
    resultSize: ([size = 0]) => size * 2 + 2,
  }),
  define(
    'string.find(string): string',
    (text: string, pattern: string) => illegalRegexp(pattern).find(text) ?? '',
    found,
  ),
  define('string.findAll(string): list(string)', findAll, found),
  define('string.findAll(string, int): list(string)', findAll, found),
];
