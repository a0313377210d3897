/** Lists and sets: extensions of CEL and of Kubernetes. */
import type { Budget } from '../values/budget.ts';
import { define, defineMetered, type Overload } from '../values/functions.ts';
import { product } from '../values/size-range.ts';
import {
  CelError,
  compareNumbers,
  compareText,
  Duration,
  equal,
  ItemList,
  isNumber,
  ListValue,
  NoSuchOverload,
  Timestamp,
  Uint,
  type Value,
} from '../values/values.ts';

/** Entries of a list that `lists.range` makes. */
const rangeMax = 100_000n;
const intMax = 2n ** 63n - 1n;

function compare(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareNumbers(a.ns, b.ns);
  if (a instanceof Duration && b instanceof Duration) return compareNumbers(a.ns, b.ns);
  throw new NoSuchOverload();
}

function isSorted(list: ListValue): boolean {
  for (let index = 1; index < list.size; index++)
    if (compare(list.at(index - 1), list.at(index)) > 0) return false;
  return true;
}

function extreme(list: ListValue, name: 'min' | 'max'): Value {
  if (list.size === 0) throw new CelError(`${name} called on empty list`);
  let best = list.at(0);
  for (const item of list) {
    const difference = compare(item, best);
    if (name === 'min' ? difference < 0 : difference > 0) best = item;
  }
  return best;
}

function sum(list: ListValue): Value {
  const [first] = list;
  if (first === undefined) return 0n;
  let total: Value =
    first instanceof Duration
      ? new Duration(0n)
      : first instanceof Uint
        ? new Uint(0n)
        : typeof first === 'number'
          ? 0
          : 0n;
  for (const item of list) total = plus(total, item);
  return total;
}

function plus(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    if (a + b > intMax || a + b < -intMax - 1n) throw new CelError('integer overflow');
    return a + b;
  }
  if (a instanceof Uint && b instanceof Uint) return new Uint(BigInt.asUintN(64, a.value + b.value));
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.ns + b.ns);
  throw new NoSuchOverload();
}

function position(budget: Budget, list: ListValue, item: Value, last: boolean): bigint {
  for (let step = 0; step < list.size; step++) {
    const index = last ? list.size - 1 - step : step;
    if (equal(list.at(index), item, budget)) return BigInt(index);
  }
  return -1n;
}

function includes(budget: Budget, list: ListValue, item: Value): boolean {
  for (const other of list) if (equal(other, item, budget)) return true;
  return false;
}

const contains = (budget: Budget, list: ListValue, others: ListValue): boolean =>
  [...others].every((item) => includes(budget, list, item));
const intersects = (budget: Budget, list: ListValue, others: ListValue): boolean =>
  [...others].some((item) => includes(budget, list, item));

function distinct(budget: Budget, list: ListValue): ListValue {
  const kept: Value[] = [];
  const seen = new Set<Value>();
  for (const item of list) {
    // Strings, ints and booleans are found by value; others are compared.
    const simple = typeof item === 'string' || typeof item === 'bigint' || typeof item === 'boolean';
    if (simple ? seen.has(item) : kept.some((other) => equal(other, item, budget))) continue;
    if (simple) seen.add(item);
    kept.push(item);
  }
  return new ItemList(kept);
}

function flatten(budget: Budget, list: ListValue, depth = 1n): ListValue {
  if (depth < 0n) throw new CelError('level must be non-negative');
  const out: Value[] = [];
  budget.charge(list.size * 4);
  for (const item of list) {
    if (item instanceof ListValue && depth > 0n)
      for (const inner of flatten(budget, item, depth - 1n)) out.push(inner);
    else out.push(item);
  }
  return new ItemList(out);
}

function range(count: bigint): ListValue {
  if (count > rangeMax) throw new CelError(`lists.range size exceeds ${rangeMax}`);
  return new ItemList(Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)));
}

function slice(list: ListValue, start: bigint, end: bigint): ListValue {
  if (start < 0n || end < 0n)
    throw new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`);
  if (start > end)
    throw new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`);
  if (end > BigInt(list.size))
    throw new CelError(`cannot slice(${start}, ${end}), list is length ${list.size}`);
  return new ItemList([...list].slice(Number(start), Number(end)));
}

/** Comparisons that sorting a list of this size takes. */
export const comparisons = (size: number): number => Math.ceil(size * Math.log2(size + 1)) * 2;

/** Sorts items by keys; the first key says of which type all must be. */
export function sortByKeys(items: readonly Value[], keys: readonly Value[]): ListValue {
  const order = keys.map((_, index) => index);
  order.sort((a, b) => compare(keys[a] as Value, keys[b] as Value));
  return new ItemList(order.map((index) => items[index] as Value));
}

/** Steps to look at an item beside the one that cel-go counts: JSON becomes a value of the language. */
const itemWork = ([size = 0]: readonly number[]): number => size * 3;
const walked = { cost: ([size = 0]: readonly number[]) => Math.max(1, size), work: itemWork };
const crossed = { cost: ([a = 0, b = 0]: readonly number[]) => Math.max(1, product(a, b)) };
const comparable = ['int', 'uint', 'double', 'bool', 'string', 'timestamp', 'duration'];
const summable = ['int', 'uint', 'double', 'duration'];

export const listLibrary = (): readonly Overload[] => [
  ...comparable.flatMap((type) => [
    define(`list(${type}).isSorted(): bool`, isSorted, walked),
    define(`list(${type}).min(): ${type}`, (list: ListValue) => extreme(list, 'min'), walked),
    define(`list(${type}).max(): ${type}`, (list: ListValue) => extreme(list, 'max'), walked),
    define(`list(${type}).sort(): list(${type})`, (list: ListValue) => sortByKeys([...list], [...list]), {
      ...walked,
      work: ([size = 0]: readonly number[]) => 3 * size + comparisons(size),
    }),
  ]),
  ...summable.map((type) => define(`list(${type}).sum(): ${type}`, sum, walked)),
  defineMetered(
    'list(A).indexOf(A): int',
    (budget, list: ListValue, item: Value) => position(budget, list, item, false),
    walked,
  ),
  defineMetered(
    'list(A).lastIndexOf(A): int',
    (budget, list: ListValue, item: Value) => position(budget, list, item, true),
    walked,
  ),
  defineMetered('list(A).distinct(): list(A)', distinct, {
    cost: ([size = 0]) => Math.max(1, product(size, size)),
  }),
  defineMetered('list(list(A)).flatten(): list(A)', flatten, walked),
  defineMetered('list(dyn).flatten(int): list(dyn)', flatten, walked),
  define('lists.range(int): list(int)', range, {
    cost: (_, args) => (typeof args?.[0] === 'bigint' && args[0] > 0n ? 4 * Number(args[0]) : 1),
  }),
  define('list(A).reverse(): list(A)', (list: ListValue) => new ItemList([...list].reverse()), walked),
  define('list(A).slice(int, int): list(A)', slice, walked),
  defineMetered('sets.contains(list(A), list(A)): bool', contains, crossed),
  defineMetered(
    'sets.equivalent(list(A), list(A)): bool',
    (budget, a: ListValue, b: ListValue) => contains(budget, a, b) && contains(budget, b, a),
    crossed,
  ),
  defineMetered('sets.intersects(list(A), list(A)): bool', intersects, crossed),
];
