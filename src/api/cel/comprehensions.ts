/**
 * Macros at run time: loops over lists and maps, and functions on what an optional holds. What a round of a loop costs
 * beside its expressions follows cel-go, where macros are expanded to calls that are charged one by one.
 */

import type { Frame, Step } from './compiler.ts';
import { comparisons, sortByKeys } from './libraries/lists.ts';
import type { MacroName } from './syntax/syntax.ts';
import { hiddenErrorCost } from './values/budget.ts';
import {
  CelError,
  EntryMap,
  ItemList,
  ListValue,
  MapValue,
  NoSuchOverload,
  Optional,
  type Value,
} from './values/values.ts';

export interface Comprehension {
  readonly range: Step;
  /** How many variables there are, and where the first is kept. */
  readonly variables: number;
  readonly slot: number;
  readonly condition: Step | undefined;
  readonly body: Step | undefined;
}

/** Steps of one round, besides those of its expressions, and of the whole loop. */
const roundCosts: Record<MacroName, { readonly round: number; readonly whole: number }> = {
  all: { round: 3, whole: 1 },
  exists: { round: 4, whole: 1 },
  existsOne: { round: 2, whole: 2 },
  filter: { round: 13, whole: 11 },
  map: { round: 12, whole: 11 },
  transformList: { round: 12, whole: 11 },
  transformMap: { round: 32, whole: 31 },
  transformMapEntry: { round: 32, whole: 31 },
  sortBy: { round: 12, whole: 11 },
  optMap: { round: 0, whole: 2 },
  optFlatMap: { round: 0, whole: 2 },
};

export function comprehension(name: MacroName, parts: Comprehension): Step {
  const { round, whole } = roundCosts[name];
  const { range, condition, body } = parts;
  const yes = condition ?? always;
  const made = body ?? always;
  /** Calls `visit` for each entry, until it returns true. */
  const loop = (frame: Frame, visit: () => boolean): void => {
    const values = range(frame);
    frame.budget.charge(whole);
    forEach(values, parts, frame, round, visit);
  };
  switch (name) {
    case 'all':
    case 'exists':
      return quantified(parts, loop, name === 'exists');
    case 'existsOne':
      return (frame) => {
        let count = 0;
        loop(frame, () => {
          if (isTrue(yes(frame))) count++;
          return false;
        });
        return count === 1;
      };
    case 'filter':
    case 'map':
    case 'transformList':
      return (frame) => {
        const items: Value[] = [];
        const value = name === 'filter' ? (): Value => frame.locals[parts.slot] as Value : made;
        loop(frame, () => {
          if (isTrue(yes(frame))) items.push(value(frame));
          return false;
        });
        return new ItemList(items);
      };
    case 'transformMap':
    case 'transformMapEntry':
      return (frame) => {
        const pairs: [Value, Value][] = [];
        loop(frame, () => {
          if (!isTrue(yes(frame))) return false;
          const value = made(frame);
          if (name === 'transformMap') pairs.push([frame.locals[parts.slot] as Value, value]);
          else if (!(value instanceof MapValue)) throw new NoSuchOverload();
          else for (const key of value.keys()) pairs.push([key, value.find(key) as Value]);
          return false;
        });
        return EntryMap.of(pairs);
      };
    case 'sortBy':
      return (frame) => {
        const items: Value[] = [];
        const keys: Value[] = [];
        loop(frame, () => {
          items.push(frame.locals[parts.slot] as Value);
          keys.push(made(frame));
          return false;
        });
        frame.budget.charge(comparisons(items.length));
        return sortByKeys(items, keys);
      };
    default:
      return (frame) => {
        const optional = range(frame);
        frame.budget.charge(whole);
        if (!(optional instanceof Optional)) throw new NoSuchOverload();
        if (optional.value === undefined) return Optional.none;
        frame.locals[parts.slot] = optional.value;
        const value = made(frame);
        if (name === 'optMap') return new Optional(value);
        if (value instanceof Optional) return value;
        throw new NoSuchOverload();
      };
  }
}

const always: Step = () => true;

type Loop = (frame: Frame, visit: () => boolean) => void;

/** `all` and `exists`: a round that decides wins over errors of others. */
function quantified({ condition }: Comprehension, loop: Loop, deciding: boolean): Step {
  const holds = condition ?? always;
  return (frame) => {
    let decided = false;
    let failure: CelError | undefined;
    loop(frame, () => {
      try {
        decided = isTrue(holds(frame)) === deciding;
      } catch (error) {
        if (!(error instanceof CelError)) throw error;
        frame.budget.charge(hiddenErrorCost);
        failure ??= error;
      }
      return decided;
    });
    if (decided) return deciding;
    if (failure !== undefined) throw failure;
    return !deciding;
  };
}

function isTrue(value: Value): boolean {
  if (typeof value !== 'boolean') throw new NoSuchOverload();
  return value;
}

function forEach(
  range: Value,
  parts: Comprehension,
  frame: Frame,
  round: number,
  visit: () => boolean,
): void {
  const { slot, variables } = parts;
  const { locals, budget } = frame;
  if (range instanceof ListValue) {
    for (let index = 0; index < range.size; index++) {
      budget.charge(round);
      locals[slot] = variables === 2 ? BigInt(index) : range.at(index);
      if (variables === 2) locals[slot + 1] = range.at(index);
      if (visit()) return;
    }
  } else if (range instanceof MapValue) {
    for (const key of range.keys()) {
      budget.charge(round);
      locals[slot] = key;
      if (variables === 2) locals[slot + 1] = range.find(key) as Value;
      if (visit()) return;
    }
  } else throw new NoSuchOverload();
}
