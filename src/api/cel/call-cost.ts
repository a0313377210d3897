/**
 * Estimates the maximum cost of calls, and the maximum size of their results, from the sizes of their arguments. The
 * rules are those of cel-go and of Kubernetes' libraries; functions that are not listed here cost one step.
 */

import type { Node } from './syntax/syntax.ts';
import type { Overload } from './values/functions.ts';
import {
  exactly,
  matchSteps,
  product,
  productOf,
  type SizeRange,
  sumOf,
  unionOf,
  unknownSize,
  walk,
} from './values/size-range.ts';
import type { Type } from './values/types.ts';

/** The target of a call, or one of its arguments. */
export interface Operand {
  readonly node: Node;
  readonly size: SizeRange;
  /** The size of the items of a list, as far as its schema says; infinite for lists that an expression makes. */
  readonly itemSize: () => SizeRange;
}

export interface CallCost {
  readonly cost: number;
  /** Size of the result; undefined when its type alone determines it. */
  readonly size?: SizeRange | undefined;
}

type Estimate = (call: {
  readonly overload: Overload;
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
}) => CallCost;

/** Steps of a question to an authorizer. */
const authorizationSteps = 350_000;
const listSteps = 10;
const requirementSteps = 50;
/** Characters of patterns that named formats are checked with. */
const formatPatternChars = 128;
const formatChars = 64;
/** Bytes of an address. */
const addressBytes = 16;

const oneStep: Estimate = () => ({ cost: 1 });
const size = (operand: Operand | undefined): SizeRange => operand?.size ?? unknownSize;
const isText = (type: Type | undefined): boolean => type?.kind === 'string' || type?.kind === 'bytes';

/** Walks over the first argument. */
const parsing: Estimate = ({ args }) => ({ cost: walk(size(args[0]).max) });

/** Gives a text that is no longer than the target. */
const shortening: Estimate = ({ target }) => ({ cost: walk(size(target).max), size: size(target) });

/** Looks at each item of a list, or at each character of a string. */
const looking: Estimate = ({ target }) => {
  const type = target?.node.type;
  if (type?.kind !== 'list') return { cost: walk(size(target).max) };
  const each = 1 + (isText(type.item) ? walk((target as Operand).itemSize().max) : 0);
  return { cost: product(size(target).max, each) };
};

const replacing: Estimate = ({ target, args }) => {
  const text = size(target);
  const [from, to] = [size(args[0]), size(args[1])];
  const max =
    from.min === 0
      ? product(text.max + 1, to.max) + text.max
      : to.max <= from.min
        ? text.max
        : product(Math.ceil(text.max / from.min), to.max);
  const min =
    from.max === 0
      ? product(text.min + 1, to.min) + text.min
      : from.max <= to.min
        ? text.min
        : product(Math.ceil(text.min / from.max), to.min);
  return { cost: Math.ceil(text.max * 0.2), size: { min, max } };
};

const splitting: Estimate = ({ target, args }) => {
  const limit = args[1] && literalInt(args[1]);
  const max = limit === undefined ? size(target).max : limit < 0 ? Number.POSITIVE_INFINITY : limit;
  return { cost: Math.ceil(size(target).max * 0.2), size: { min: 0, max } };
};

const joining: Estimate = ({ target, args }) => {
  const list = size(target);
  let text = productOf(list, target?.itemSize() ?? unknownSize);
  const gaps = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
  if (args[0]) text = sumOf(text, productOf(args[0].size, gaps));
  return { cost: walk(text.max), size: text };
};

const finding: Estimate = ({ target, args }) => ({
  cost: matchSteps(size(target).max, size(args[0]).max),
  size: { min: 0, max: size(target).max },
});

/** `matches(text, pattern)` costs one step: cel-go looks at the text of `text.matches(pattern)` alone. */
const matching: Estimate = ({ target, args }) => ({
  cost: target ? matchSteps(size(target).max, size(args[0]).max) : 1,
});

const containing: Estimate = ({ target, args }) => ({
  cost: product(walk(size(target).max), walk(size(args[0]).max)),
});

/** Compares an address with a range; a text is read first. */
const ranging =
  (steps: number): Estimate =>
  ({ overload, args }) => ({
    cost: steps + (overload.params[1]?.kind === 'string' ? walk(size(args[0]).max) : 0),
  });

const adding: Estimate = ({ overload, args }) => {
  const [param] = overload.params;
  const sum = sumOf(size(args[0]), size(args[1]));
  if (param?.kind === 'list') return { cost: 1, size: sum };
  return isText(param) ? { cost: walk(sum.max), size: sum } : { cost: 1 };
};

const comparing = (args: readonly Operand[]): CallCost => ({
  cost: walk(Math.min(size(args[0]).max, size(args[1]).max)),
});

const ordering: Estimate = ({ overload, args }) =>
  isText(overload.params[0]) ? comparing(args) : { cost: 1 };

const equating: Estimate = ({ args }) => {
  const [left, right] = args.map(({ node }) => node.type);
  if (left?.kind !== 'opaque' || right?.kind !== 'opaque' || left.name !== right.name) return comparing(args);
  if (left.name === 'kubernetes.NamedFormat') return { cost: walk(formatChars) };
  if (left.name === 'kubernetes.URL') return { cost: walk(size(args[1]).max) };
  return { cost: 1 };
};

/** A function of lists that makes a list of this many items. */
const listing = (items: SizeRange, each: number): CallCost => ({
  cost: Math.ceil(product(items.max, each)) + 1 + listSteps,
  size: items,
});

/** Each item with each other. */
export const sorting = (items: SizeRange, key: Type | undefined): CallCost =>
  listing(productOf(items, items), isText(key) || key?.kind === 'dyn' ? 2.1 : 2);

const slicing: Estimate = ({ target, args }) => {
  const start = (args[0] && naturalLiteral(args[0])) ?? 0;
  const end = (args[1] && naturalLiteral(args[1])) ?? size(target).max;
  return listing(exactly(end < start ? Number.POSITIVE_INFINITY : end - start), 1);
};

const flattening: Estimate = ({ target, args }) =>
  listing(size(target), args[0] ? (naturalLiteral(args[0]) ?? Number.POSITIVE_INFINITY) : 1);

const crossing =
  (each: number): Estimate =>
  ({ args }) => ({ cost: product(product(size(args[0]).max, size(args[1]).max), each) + 1 });

const selecting: Estimate = ({ args }) => {
  const { max } = size(args[0]);
  return { cost: listSteps + walk(max) + Math.ceil(max * 0.5) * requirementSteps };
};

function literalInt({ node }: Operand): number | undefined {
  return node.kind === 'literal' && typeof node.value === 'bigint' ? Number(node.value) : undefined;
}

/** Negative numbers count as zero. */
function naturalLiteral(operand: Operand): number | undefined {
  const value = literalInt(operand);
  return value === undefined ? undefined : Math.max(0, value);
}

const estimates: Readonly<Record<string, Estimate>> = {
  check: () => ({ cost: authorizationSteps }),
  fieldSelector: selecting,
  labelSelector: selecting,
  isSorted: looking,
  sum: looking,
  max: looking,
  min: looking,
  indexOf: looking,
  lastIndexOf: looking,
  url: ({ args }) => ({ cost: walk(size(args[0]).max), size: size(args[0]) }),
  'jsonpatch.escapeKey': ({ args }) => ({ cost: walk(size(args[0]).max), size: size(args[0]) }),
  lowerAscii: shortening,
  upperAscii: shortening,
  substring: shortening,
  trim: shortening,
  replace: replacing,
  split: splitting,
  join: joining,
  find: finding,
  findAll: finding,
  cidr: parsing,
  isIP: parsing,
  isCIDR: parsing,
  ip: (call) => (call.target ? oneStep(call) : parsing(call)),
  'ip.isCanonical': ({ args }) => ({ cost: Math.ceil(size(args[0]).max * 0.2) }),
  containsIP: ranging(walk(2 * addressBytes)),
  containsCIDR: ranging(walk(2 * addressBytes) + walk(addressBytes) + 1),
  quantity: parsing,
  isQuantity: parsing,
  semver: parsing,
  isSemver: parsing,
  validate: ({ args }) => ({ cost: Math.ceil(walk(size(args[0]).max) * formatPatternChars * 0.25) }),
  format: ({ target }) => ({ cost: walk(size(target).max) }),
  bytes: ({ overload, args }) => {
    const { min, max } = size(args[0]);
    return overload.params[0]?.kind === 'string'
      ? { cost: walk(max), size: { min, max: max * 4 } }
      : { cost: 1 };
  },
  string: ({ overload, args }) => {
    const { min, max } = size(args[0]);
    return overload.params[0]?.kind === 'bytes'
      ? { cost: walk(max), size: { min: Math.floor(min / 4), max } }
      : { cost: 1 };
  },
  'strings.quote': ({ args }) => {
    const { min, max } = size(args[0]);
    return { cost: walk(max), size: { min: min + 2, max: max * 2 + 2 } };
  },
  startsWith: parsing,
  endsWith: parsing,
  contains: containing,
  matches: matching,
  '@in': ({ overload, args }) => ({ cost: overload.params[1]?.kind === 'list' ? size(args[1]).max : 1 }),
  '_+_': adding,
  '_<_': ordering,
  '_<=_': ordering,
  '_>_': ordering,
  '_>=_': ordering,
  '_==_': equating,
  '_!=_': ({ args }) => comparing(args),
  slice: slicing,
  'lists.range': ({ args }) =>
    listing(exactly((args[0] && naturalLiteral(args[0])) ?? Number.POSITIVE_INFINITY), 1),
  reverse: ({ target }) => listing(size(target), 1),
  flatten: flattening,
  distinct: ({ target }) => listing(productOf(size(target), size(target)), 2),
  sort: ({ overload, target }) => {
    const [list] = overload.params;
    return sorting(size(target), list?.kind === 'list' ? list.item : undefined);
  },
  'sets.contains': crossing(1),
  'sets.intersects': crossing(1),
  'sets.equivalent': crossing(2),
};

/** The dearest of the overloads that may be meant. */
export function callCost(
  overloads: readonly Overload[],
  target: Operand | undefined,
  args: readonly Operand[],
): CallCost {
  let cost = 0;
  let size: SizeRange | undefined;
  for (const overload of overloads) {
    const estimate = Object.hasOwn(estimates, overload.name)
      ? (estimates[overload.name] as Estimate)
      : oneStep;
    const one = estimate({ overload, target, args });
    cost = Math.max(cost, one.cost);
    if (one.size) size = size ? unionOf(size, one.size) : one.size;
  }
  return { cost, size };
}
