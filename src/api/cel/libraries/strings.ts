/** Strings and patterns: the strings extension of CEL, and `find`, `findAll` of Kubernetes. */
import { type GoRegexp, RegexpError } from '../../text/go-regexp.ts';
import type { Budget } from '../values/budget.ts';
import { charsPerStep, define, defineMetered, type Overload, walkFirst } from '../values/functions.ts';
import { product, walk } from '../values/size-range.ts';
import { CelError, ItemList, type ListValue } from '../values/values.ts';
import { Characters } from './characters.ts';
import { bounded, format } from './formatting.ts';
import { matchCost, runnable } from './standard.ts';

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

/** Steps for each string that a function makes. */
const partCost = 2;

function replace(budget: Budget, text: string, from: string, to: string, limit = -1n): string {
  const parts = from === '' ? ['', ...charactersOf(budget, text), ''] : text.split(from);
  budget.charge(parts.length * partCost);
  const places = parts.length - 1;
  const count = limit < 0n || limit > BigInt(places) ? places : Number(limit);
  bounded(text.length + count * to.length);
  budget.charge(walk(text.length + count * to.length));
  let out = parts[0] as string;
  for (let index = 1; index < parts.length; index++) out += (index <= count ? to : from) + parts[index];
  return out;
}

function charactersOf(budget: Budget, text: string): string[] {
  budget.charge(text.length);
  return Array.from(text);
}

function split(budget: Budget, text: string, separator: string, limit = -1n): ListValue {
  if (limit === 0n) return new ItemList([]);
  const parts = separator === '' ? charactersOf(budget, text) : text.split(separator);
  budget.charge(parts.length * partCost);
  if (limit < 0n || BigInt(parts.length) <= limit) return new ItemList(parts);
  const kept = Number(limit) - 1;
  return new ItemList([...parts.slice(0, kept), parts.slice(kept).join(separator)]);
}

function join(budget: Budget, list: ListValue, separator = ''): string {
  const parts: string[] = [];
  let chars = 0;
  for (const part of list) {
    if (typeof part !== 'string') throw new CelError('no such overload');
    chars += part.length + separator.length;
    bounded(chars);
    budget.charge(partCost + walk(part.length + separator.length));
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

const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);
const asciiUpper = (text: string): string =>
  isAscii(text) ? text.toUpperCase() : text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
const asciiLower = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

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

function illegalRegexp(budget: Budget, pattern: string, text: string): GoRegexp {
  try {
    return runnable(budget, pattern, text);
  } catch (error) {
    if (error instanceof RegexpError) throw new CelError(`Illegal regex: ${error.message}`);
    throw error;
  }
}

/** Steps of a match, which is searched for with every character, and becomes a string. */
const matchSteps = 5;

function findAll(budget: Budget, text: string, pattern: string, limit = -1n): ListValue {
  const expression = illegalRegexp(budget, pattern, text);
  const most = limit < 0n ? text.length + 1 : Math.min(Number(limit), text.length + 1);
  budget.charge(most * matchSteps);
  return new ItemList(expression.findAll(text, most));
}

const sameSize = ([size = 0]: readonly number[]): number => size;
const counting = ([size = 0]: readonly number[]): number => Math.floor(size / charsPerStep);
const walked = { cost: walkFirst, work: counting };
const replaced = { cost: walkFirst };
const searched = {
  cost: ([text = 0, part = 0]: readonly number[]) => product(walk(text), Math.max(1, walk(part))),
  work: counting,
};
const found = { cost: matchCost };

export const stringLibrary = (): readonly Overload[] => [
  define(
    'string.charAt(int): string',
    (text: string, index: bigint) => {
      const characters = new Characters(text);
      const at = inRange(index, characters.length);
      return characters.slice(at, at + 1);
    },
    { work: counting },
  ),
  define('string.indexOf(string): int', indexOf, searched),
  define('string.indexOf(string, int): int', indexOf, searched),
  define('string.lastIndexOf(string): int', lastIndexOf, searched),
  define('string.lastIndexOf(string, int): int', lastIndexOf, searched),
  define('string.lowerAscii(): string', asciiLower, walked),
  define('string.upperAscii(): string', asciiUpper, walked),
  defineMetered('string.replace(string, string): string', replace, replaced),
  defineMetered('string.replace(string, string, int): string', replace, replaced),
  defineMetered('string.split(string): list(string)', split, walked),
  defineMetered('string.split(string, int): list(string)', split, walked),
  define('string.substring(int): string', substring, walked),
  define('string.substring(int, int): string', substring, walked),
  define('string.trim(): string', (text: string) => text.replace(leading, '').replace(trailing, ''), walked),
  defineMetered('string.format(list(dyn)): string', format, { cost: walkFirst }),
  defineMetered('list(string).join(): string', join, { cost: sameSize }),
  defineMetered('list(string).join(string): string', join, { cost: sameSize }),
  define('strings.quote(string): string', quote, { cost: walkFirst }),
  defineMetered(
    'string.find(string): string',
    (budget, text: string, pattern: string) => illegalRegexp(budget, pattern, text).find(text) ?? '',
    found,
  ),
  defineMetered('string.findAll(string): list(string)', findAll, found),
  defineMetered('string.findAll(string, int): list(string)', findAll, found),
];
