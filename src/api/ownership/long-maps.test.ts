/** Proves that long maps are walked in parts, with the same result as at once. */
import { expect, it } from 'vitest';
import { modelOf } from '../model/model.ts';
import type { JsonObject } from '../text/object.ts';
import { structOf } from './field-type.ts';
import { compare, fieldsOf } from './field-walk.ts';
import { fieldsOfLong, withoutSameEntries } from './long-maps.ts';

const model = modelOf('Deployment', 'apps-v1');
const type = structOf(model);

/** What a walk returns, and how often it lets others in between. */
function walked<T>(walk: Generator<void, T>): { result: T; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = walk.next();
    if (done) return { result: value, pauses };
  }
}

const numbered = (count: number, from = 0): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`label-${from + i}`, `v${i % 7}`]));

const deployment = (labels: JsonObject | undefined, ofPods: JsonObject | undefined): JsonObject => ({
  kind: 'Deployment',
  metadata: { name: 'a', ...(labels && { labels }) },
  spec: {
    replicas: 1,
    template: { metadata: ofPods && { labels: ofPods }, spec: { containers: [{ name: 'c' }] } },
  },
});

const length = 1_500;
const long = numbered(length);
const states: Readonly<Record<string, JsonObject>> = {
  long: deployment(long, long),
  'with one more': deployment({ ...long, more: 'v' }, { ...long, more: 'v' }),
  'with one less': deployment(numbered(length - 1), numbered(length - 1, 1)),
  'with one changed': deployment({ ...long, 'label-7': 'other' }, long),
  'with the first one gone': deployment(numbered(length - 1, 1), long),
  'with others': deployment(numbered(length, 50_000), long),
  'in another order': deployment(Object.fromEntries(Object.entries(long).reverse()), long),
  'with few': deployment({ a: 'v' }, { 'label-1': 'v1' }),
  'with none': deployment(undefined, undefined),
  'with names of prototypes': deployment({ ...long, constructor: 'v' }, JSON.parse('{"__proto__":"v"}')),
};
const pairs = Object.keys(states).flatMap((a) => Object.keys(states).map((b) => [a, b] as const));

it.each(pairs)('what differs between %s and %s differs without what they have in common', (a, b) => {
  const [old, now] = [states[a]!, states[b]!];
  const { result } = walked(withoutSameEntries(model, old, now));
  expect(compare(type, ...result)).toEqual(compare(type, old, now));
});

it('the same entries of two long maps are left out, but for one, in parts', () => {
  const [old, now] = [numbered(20_000), { ...numbered(20_000), more: 'v' }];
  const { result, pauses } = walked(
    withoutSameEntries(model, deployment(old, undefined), deployment(now, undefined)),
  );
  expect(result[1]['metadata']).toEqual({ name: 'a', labels: { more: 'v', 'label-19999': 'v0' } });
  expect(pauses).toBeGreaterThanOrEqual(4);
});

it.each(Object.keys(states))('the fields of the object %s are the same', (name) => {
  expect(walked(fieldsOfLong(type, states[name]!)).result).toEqual(fieldsOf(type, states[name]!));
});

it('fields of long maps are found in parts', () => {
  const { pauses } = walked(fieldsOfLong(type, deployment(numbered(20_000), undefined)));
  expect(pauses).toBeGreaterThanOrEqual(3);
});
