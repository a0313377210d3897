/** For tests: expressions against a few typed variables, as in the specification. */

import { compile } from './cel.ts';
import type { Environment } from './checker.ts';
import { anyJson, toJson } from './json-values.ts';
import { admissionFunctions } from './libraries/libraries.ts';
import { parseDuration, parseTimestamp } from './libraries/times.ts';
import { Budget } from './values/budget.ts';
import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  list,
  map,
  object,
  string,
  type Type,
  timestamp,
} from './values/types.ts';
import { CelError, EntryMap, type Value } from './values/values.ts';

const fields: readonly (readonly [string, Type, unknown])[] = [
  ['s', string, 'hello'],
  ['i', int, 5],
  ['d', double, 2.5],
  ['b', bool, true],
  ['y', bytes, undefined],
  ['l', list(int), [1, 2, 3]],
  ['m', map(string, string), { a: 'x', b: 'y' }],
  ['o', object('selfType.o', new Map([['x', string]])), { x: 'a' }],
  [
    'objs',
    list(
      object(
        'selfType.objs.items',
        new Map<string, Type>([
          ['n', string],
          ['v', int],
        ]),
      ),
    ),
    [{ n: 'a', v: 1 }, { n: 'b' }],
  ],
  ['t', timestamp, undefined],
  ['dur', duration, undefined],
  ['ios', dyn, 'five'],
];

const selfType = object('selfType', new Map(fields.map(([name, type]) => [name, type])));

export const environment: Environment = {
  variables: new Map<string, Type>([
    ['self', selfType],
    ['object', dyn],
  ]),
  functions: admissionFunctions(),
};

const special: Record<string, Value> = {
  d: 2.5,
  y: new Uint8Array([1, 2]),
  t: parseTimestamp('2024-02-29T10:20:30.5Z') as Value,
  dur: parseDuration('1h30m') as Value,
};

const self = EntryMap.of(fields.map(([name, , json]) => [name, special[name] ?? anyJson(json)] as const));
const anObject = anyJson({
  metadata: { name: 'x', labels: { app: 'web' } },
  spec: { replicas: 3, list: [1, 'a', null] },
});

/** The value as JSON, or `error: …`. */
export function evaluate(text: string, limit = 1_000_000): unknown {
  const { program, errors } = compile(text, environment);
  if (program === undefined) return errors;
  try {
    return toJson(program.run({ self, object: anObject }, new Budget(limit)));
  } catch (error) {
    if (error instanceof CelError) return `error: ${error.message}`;
    throw error;
  }
}

/** `1:5: undefined field 'y'`, for each error. */
export function problems(text: string): string[] {
  const { errors } = compile(text, environment);
  return Array.from((errors ?? '').matchAll(/^ERROR: <input>:(.*)$/gm), ([, message]) => message as string);
}
