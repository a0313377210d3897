/**
 * Functions of the language: what they take, give, cost and do.
 *
 * Libraries list theirs by signature, `'string.charAt(int): string'`, where the part before the dot is the type of the
 * value a member function is called on. Single capitals stand for any type; names such as `Quantity` for types that
 * only functions look into.
 */

import type { Budget } from './budget.ts';
import { walk } from './size-range.ts';
import type { Type } from './types.ts';
import * as types from './types.ts';
import type { Value } from './values.ts';

/** Sizes of the arguments (strings: characters; lists and maps: entries; others: 1), the target's first. */
type BySizes = (sizes: readonly number[], args?: readonly Value[]) => number;

export interface Overload {
  readonly name: string;
  readonly member: boolean;
  /** The types of the target, if any, and of the arguments. */
  readonly params: readonly Type[];
  readonly result: Type;
  /** Whether the signature has types that stand for any. */
  readonly generic: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each implementation declares what its signature promises.
  readonly run: (...args: any[]) => Value;
  /** Whether `run` takes the budget as its first argument, because only it knows how much work there is. */
  readonly metered: boolean;
  /**
   * Steps that a call takes, charged before it runs. A step is about as much work as a comparison of numbers. A number
   * where sizes do not matter, because that is quicker.
   */
  readonly cost: number | BySizes;
}

interface Details {
  readonly cost?: number | BySizes;
  /** Steps beyond those of cel-go's model, because the work is more here; charged when it runs, never estimated. */
  readonly work?: BySizes;
}

export type FunctionTable = ReadonlyMap<string, readonly Overload[]>;

const opaqueNames: Record<string, string> = {
  Quantity: 'kubernetes.Quantity',
  IP: 'net.IP',
  CIDR: 'net.CIDR',
  URL: 'kubernetes.URL',
  Semver: 'kubernetes.Semver',
  NamedFormat: 'kubernetes.NamedFormat',
  Authorizer: 'kubernetes.authorization.Authorizer',
  PathCheck: 'kubernetes.authorization.PathCheck',
  GroupCheck: 'kubernetes.authorization.GroupCheck',
  ResourceCheck: 'kubernetes.authorization.ResourceCheck',
  Decision: 'kubernetes.authorization.Decision',
};

/** Types of variables that only functions look into. */
export const opaqueTypes = {
  Authorizer: types.opaque('kubernetes.authorization.Authorizer'),
  ResourceCheck: types.opaque('kubernetes.authorization.ResourceCheck'),
  Quantity: types.opaque('kubernetes.Quantity'),
} as const;

export const walkFirst: BySizes = ([size = 0]) => walk(size);

// biome-ignore lint/suspicious/noExplicitAny: see Overload.
export function define(signature: string, run: (...args: any[]) => Value, details: Details = {}): Overload {
  const { cost = 1, work } = details;
  const shape = parsed(signature);
  return {
    ...shape,
    generic: [...shape.params, shape.result].some((type) => types.mentions(type)),
    run,
    metered: false,
    cost: work === undefined ? cost : withWork(cost, work),
  };
}

const withWork =
  (cost: number | BySizes, work: BySizes): BySizes =>
  (sizes, args) =>
    (typeof cost === 'number' ? cost : cost(sizes, args)) + (args === undefined ? 0 : work(sizes, args));

/** Functions of a library whose calls take more steps each than cel-go counts, and more for longer strings. */
export const dearer = (library: readonly Overload[], steps: number): readonly Overload[] =>
  library.map((overload) => ({
    ...overload,
    cost: withWork(overload.cost, (sizes) => steps + Math.floor(Math.max(0, ...sizes) / charsPerStep)),
  }));

/** Characters that are parsed or counted in about the time of a step. */
export const charsPerStep = 8;

/** A function that charges for parts of its work while it does them, because sizes do not tell how much there is. */
export function defineMetered(
  signature: string,
  // biome-ignore lint/suspicious/noExplicitAny: see Overload.
  run: (budget: Budget, ...args: any[]) => Value,
  details: Details = {},
): Overload {
  return { ...define(signature, run, details), metered: true };
}

/** The cost of a call with arguments of these sizes; `args` are known only when it runs. */
export const costOf = ({ cost }: Overload, sizes: readonly number[], args?: readonly Value[]): number =>
  typeof cost === 'number' ? cost : cost(sizes, args);

export function functionTable(...libraries: readonly (readonly Overload[])[]): FunctionTable {
  const table = new Map<string, Overload[]>();
  for (const overload of libraries.flat()) {
    const known = table.get(overload.name);
    if (known === undefined) table.set(overload.name, [overload]);
    else known.push(overload);
  }
  return table;
}

function parsed(signature: string): Pick<Overload, 'name' | 'member' | 'params' | 'result'> {
  const split = signature.lastIndexOf('): ');
  const result = readType(signature.slice(split + 3));
  const call = signature.slice(0, split);
  const receiver =
    /^(?:[A-Z][A-Za-z]*|int|uint|double|string|bytes|bool|timestamp|duration|list\([^.]*?\)|map\([^.]*?\)|optional\([^.]*?\))(?=\.)/.exec(
      call,
    )?.[0];
  const rest = receiver === undefined ? call : call.slice(receiver.length + 1);
  const open = rest.indexOf('(');
  const params = splitTypes(rest.slice(open + 1)).map(readType);
  return {
    name: rest.slice(0, open),
    member: receiver !== undefined,
    params: receiver === undefined ? params : [readType(receiver), ...params],
    result,
  };
}

function readType(text: string): Type {
  const generic = /^(list|map|optional)\((.*)\)$/.exec(text);
  if (generic !== null) {
    const inner = splitTypes(generic[2] as string).map(readType);
    if (generic[1] === 'list') return types.list(inner[0] as Type);
    if (generic[1] === 'optional') return types.optional(inner[0] as Type);
    return types.map(inner[0] as Type, inner[1] as Type);
  }
  if (/^[A-Z]$/.test(text)) return { kind: 'parameter', name: text };
  const name = opaqueNames[text];
  if (name !== undefined) return types.opaque(name);
  const simple = simpleTypes[text];
  if (simple === undefined) throw new Error(`no type ${text}`);
  return simple;
}

const simpleTypes: Record<string, Type> = {
  int: types.int,
  uint: types.uint,
  double: types.double,
  string: types.string,
  bytes: types.bytes,
  bool: types.bool,
  null: types.nullType,
  timestamp: types.timestamp,
  duration: types.duration,
  dyn: types.dyn,
  type: types.typeType,
};

/** Splits at commas outside of parentheses. */
function splitTypes(text: string): string[] {
  if (text === '') return [];
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')') depth--;
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}
