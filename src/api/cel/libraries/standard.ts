/** The functions and operators that every CEL has: arithmetic, comparison, conversion, size, simple checks of strings. */
import { compileRegexp, type GoRegexp, RegexpError } from '../../text/go-regexp.ts';
import { intMax, intMin, uintMax } from '../syntax/lexer.ts';
import type { Budget } from '../values/budget.ts';
import { charsPerStep, define, defineMetered, type Overload, walkFirst } from '../values/functions.ts';
import { matchSteps, product, walk } from '../values/size-range.ts';
import {
  CelError,
  compareBytes,
  compareNumbers,
  compareText,
  type Duration,
  equal,
  keyShown,
  type ListValue,
  type MapValue,
  type NumberValue,
  type Timestamp,
  TypeName,
  typeName,
  Uint,
  type Value,
} from '../values/values.ts';
import { Characters } from './characters.ts';

function checked(value: bigint): bigint {
  if (value > intMax || value < intMin) throw new CelError('integer overflow');
  return value;
}

function unsigned(value: bigint): Uint {
  if (value > uintMax || value < 0n) throw new CelError('unsigned integer overflow');
  return new Uint(value);
}

const divisor = (value: bigint, operation: 'division' | 'modulus'): bigint => {
  if (value === 0n) throw new CelError(`${operation} by zero`);
  return value;
};

const arithmetic = (): readonly Overload[] => [
  define('_+_(int, int): int', (a: bigint, b: bigint) => checked(a + b)),
  define('_-_(int, int): int', (a: bigint, b: bigint) => checked(a - b)),
  define('_*_(int, int): int', (a: bigint, b: bigint) => checked(a * b)),
  define('_/_(int, int): int', (a: bigint, b: bigint) => checked(a / divisor(b, 'division'))),
  define('_%_(int, int): int', (a: bigint, b: bigint) => a % divisor(b, 'modulus')),
  define('-_(int): int', (a: bigint) => checked(-a)),
  define('_+_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a.value + b.value)),
  define('_-_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a.value - b.value)),
  define('_*_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a.value * b.value)),
  define('_/_(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value / divisor(b.value, 'division'))),
  define('_%_(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value % divisor(b.value, 'modulus'))),
  define('_+_(double, double): double', (a: number, b: number) => a + b),
  define('_-_(double, double): double', (a: number, b: number) => a - b),
  define('_*_(double, double): double', (a: number, b: number) => a * b),
  define('_/_(double, double): double', (a: number, b: number) => a / b),
  define('-_(double): double', (a: number) => -a),
  define('!_(bool): bool', (a: boolean) => !a),
];

/** Steps to copy an item of a list. */
const itemCost = 3;

const joined = ([a = 0, b = 0]: readonly number[]): number => a + b;

const concatenation = (): readonly Overload[] => [
  define('_+_(string, string): string', (a: string, b: string) => a + b, {
    cost: (sizes) => walk(joined(sizes)),
  }),
  define(
    '_+_(bytes, bytes): bytes',
    (a: Uint8Array, b: Uint8Array) => {
      const both = new Uint8Array(a.length + b.length);
      both.set(a);
      both.set(b, a.length);
      return both;
    },
    { cost: (sizes) => walk(joined(sizes)) },
  ),
  define('_+_(list(A), list(A)): list(A)', (a: ListValue, b: ListValue) => a.concat(b), {
    work: (sizes) => joined(sizes) * itemCost,
  }),
];

const shorter = ([a = 0, b = 0]: readonly number[]): number => walk(Math.min(a, b));

/** The two values themselves are paid for by the cost of the call, what is in them as it is compared. */
const areEqual = (a: Value, b: Value, budget: Budget): boolean =>
  typeof a === 'object' ? equal(a, b, budget) : equal(a, b);

const equality = (): readonly Overload[] => [
  defineMetered('_==_(A, A): bool', (budget, a: Value, b: Value) => areEqual(a, b, budget), {
    cost: shorter,
  }),
  defineMetered('_!=_(A, A): bool', (budget, a: Value, b: Value) => !areEqual(a, b, budget), {
    cost: shorter,
  }),
];

type Order = (difference: number) => boolean;
const orders: Record<string, Order> = {
  '_<_': (difference) => difference < 0,
  '_<=_': (difference) => difference <= 0,
  '_>_': (difference) => difference > 0,
  '_>=_': (difference) => difference >= 0,
};

const ordering = (): readonly Overload[] =>
  Object.entries(orders).flatMap(([name, order]) => [
    ...['int', 'uint', 'double'].flatMap((left) =>
      ['int', 'uint', 'double'].map((right) =>
        left === 'int' && right === 'int'
          ? define(`${name}(int, int): bool`, (a: bigint, b: bigint) => order(a < b ? -1 : a > b ? 1 : 0))
          : define(`${name}(${left}, ${right}): bool`, (a: NumberValue, b: NumberValue) =>
              order(compareNumbers(a, b)),
            ),
      ),
    ),
    define(`${name}(string, string): bool`, (a: string, b: string) => order(compareText(a, b)), {
      cost: shorter,
    }),
    define(`${name}(bytes, bytes): bool`, (a: Uint8Array, b: Uint8Array) => order(compareBytes(a, b)), {
      cost: shorter,
    }),
    define(`${name}(bool, bool): bool`, (a: boolean, b: boolean) => order(Number(a) - Number(b))),
    define(`${name}(timestamp, timestamp): bool`, (a: Timestamp, b: Timestamp) =>
      order(compareNumbers(a.ns, b.ns)),
    ),
    define(`${name}(duration, duration): bool`, (a: Duration, b: Duration) =>
      order(compareNumbers(a.ns, b.ns)),
    ),
  ]);

function itemAt(list: ListValue, index: NumberValue): Value {
  const position = Number(index instanceof Uint ? index.value : index);
  if (!Number.isInteger(position) || position < 0 || position >= list.size)
    throw new CelError(`index out of bounds: ${keyShown(index)}`);
  return list.at(position);
}

function entryOf(map: MapValue, key: Value): Value {
  const value = map.find(key);
  if (value === undefined) throw new CelError(`no such key: ${keyShown(key)}`);
  return value;
}

const membership = (): readonly Overload[] => [
  define('_[_](list(A), int): A', itemAt),
  define('_[_](map(A, B), A): B', entryOf),
  defineMetered(
    '@in(A, list(A)): bool',
    (budget, item: Value, list: ListValue) => {
      for (const other of list) if (areEqual(item, other, budget)) return true;
      return false;
    },
    { cost: ([, size = 0]) => size },
  ),
  define('@in(A, map(A, B)): bool', (key: Value, map: MapValue) => map.find(key) !== undefined),
];

/** Steps to count the entries of a map: those of JSON are listed for it. */
const entries = ([size = 0]: readonly number[]): number => size * 4;
/** Steps to count the characters of a string; it is walked over if it has surrogates. */
const counting = ([size = 0]: readonly number[]): number => Math.floor(size / charsPerStep);

const sizes = (): readonly Overload[] =>
  ['string', 'bytes', 'list(A)', 'map(A, B)'].flatMap((type) => {
    const run =
      type === 'string'
        ? (value: string) => BigInt(new Characters(value).length)
        : type === 'bytes'
          ? (value: Uint8Array) => BigInt(value.length)
          : (value: ListValue | MapValue) => BigInt(value.size);
    const details = type === 'string' ? { work: counting } : type === 'map(A, B)' ? { work: entries } : {};
    return [define(`size(${type}): int`, run, details), define(`${type}.size(): int`, run, details)];
  });

/** Steps to compile an instruction of a pattern. */
const instructionCost = 10;

/**
 * The pattern, ready to run. Those of literals were compiled with the expression; others are compiled when it runs. What
 * is repeated in a pattern makes it larger than its text.
 */
export function runnable(budget: Budget, pattern: string, text: string): GoRegexp {
  const expression = compileRegexp(pattern, (size) => budget.charge(size * instructionCost));
  const beyond = expression.size - pattern.length;
  if (beyond > 0) budget.charge(walk(text.length + 1) * Math.ceil(beyond * 0.25));
  return expression;
}

/** Wrong patterns of literals are found when an expression is compiled; others when it runs. */
function matches(budget: Budget, text: string, pattern: string): boolean {
  try {
    return runnable(budget, pattern, text).test(text);
  } catch (error) {
    if (error instanceof RegexpError) throw new CelError(error.message);
    throw error;
  }
}

/** The cost of matching a pattern, estimated from the lengths of pattern and text. */
export const matchCost = ([text = 0, pattern = 0]: readonly number[]): number => matchSteps(text, pattern);

const texts = (): readonly Overload[] => [
  define('string.contains(string): bool', (text: string, part: string) => text.includes(part), {
    cost: ([text = 0, part = 0]) => product(walk(text), walk(part)),
  }),
  define('string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part), {
    cost: ([, part = 0]) => walk(part),
  }),
  define('string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part), {
    cost: ([, part = 0]) => walk(part),
  }),
  defineMetered('string.matches(string): bool', matches, { cost: matchCost }),
  defineMetered('matches(string, string): bool', matches, { cost: matchCost }),
];

function conversionError(value: Value, to: string): CelError {
  return new CelError(`type conversion error from '${typeName(value)}' to '${to}'`);
}

function intOfDouble(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

function intOfText(text: string): bigint {
  if (!/^[+-]?\d{1,20}$/.test(text)) throw conversionError(text, 'int');
  const value = BigInt(text.replace(/^\+/, ''));
  if (value > intMax || value < intMin) throw conversionError(text, 'int');
  return value;
}

function uintOfText(text: string): Uint {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > uintMax) throw conversionError(text, 'uint');
  return new Uint(BigInt(text));
}

function doubleOfText(text: string): number {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special !== null)
    return special[2]?.toLowerCase() === 'nan' ? Number.NaN : special[1] === '-' ? -Infinity : Infinity;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) throw conversionError(text, 'double');
  return Number(text);
}

function boolOfText(text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  throw conversionError(text, 'bool');
}

function textOfBytes(value: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** As Go writes a double with as few digits as tell it apart (`%g`): `1e+06`, `0.1`, `+Inf`. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponentText = ''] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

const same = (value: Value): Value => value;

const conversions = (): readonly Overload[] => [
  define('int(int): int', same),
  define('int(uint): int', ({ value }: Uint) => checked(value)),
  define('int(double): int', intOfDouble),
  define('int(string): int', intOfText, { work: counting }),
  define('uint(uint): uint', same),
  define('uint(int): uint', unsigned),
  define('uint(double): uint', (value: number) => {
    if (!(value >= 0 && value < 2 ** 64)) throw new CelError('unsigned integer overflow');
    return new Uint(BigInt(Math.trunc(value)));
  }),
  define('uint(string): uint', uintOfText, { work: counting }),
  define('double(double): double', same),
  define('double(int): double', (value: bigint) => Number(value)),
  define('double(uint): double', ({ value }: Uint) => Number(value)),
  define('double(string): double', doubleOfText, { work: counting }),
  define('bool(bool): bool', same),
  define('bool(string): bool', boolOfText),
  define('string(string): string', same),
  define('string(bool): string', String),
  define('string(int): string', String, { work: () => 5 }),
  define('string(uint): string', ({ value }: Uint) => String(value)),
  define('string(double): string', doubleText, { work: () => 15 }),
  define('string(bytes): string', textOfBytes, { cost: walkFirst }),
  define('bytes(bytes): bytes', same),
  define('bytes(string): bytes', (text: string) => new TextEncoder().encode(text), {
    cost: walkFirst,
  }),
  define('dyn(A): dyn', same),
  define('type(A): type', (value: Value) => new TypeName(typeName(value))),
];

export const standardLibrary = (): readonly Overload[] => [
  ...arithmetic(),
  ...concatenation(),
  ...equality(),
  ...ordering(),
  ...membership(),
  ...sizes(),
  ...texts(),
  ...conversions(),
];
