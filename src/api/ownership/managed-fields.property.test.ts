/** Properties of applies that hold whatever is applied, in whatever order, shown on deployments. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalized } from '../model/encode.ts';
import { modelOf } from '../model/model.ts';
import type { JsonObject } from '../text/object.ts';
import { difference, type FieldSet, fieldPaths, isMember, noFields } from '../values/field-set.ts';
import type { Managed } from '../values/managed-entry.ts';
import { structOf } from './field-type.ts';
import { fieldsOf, merge, sameJson } from './field-walk.ts';
import { applied } from './managed-fields.ts';

const apiVersion = 'apps/v1';
const model = modelOf('Deployment', 'apps-v1');
const type = structOf(model);

interface State {
  readonly merged: JsonObject;
  readonly entries: readonly Managed[];
}

const nothing: State = { merged: normalized(model, {}), entries: [] };

const apply = ({ merged, entries }: State, manager: string, body: JsonObject, force = false): State =>
  applied({
    live: merged,
    body,
    entries,
    who: { manager, operation: 'Apply', apiVersion, subresource: '' },
    now: '2026-01-02T03:04:05Z',
    force,
    version: () => ({ type, to: (object) => object, from: (object) => object }),
    keep: (set) => set,
  });

const text = fc.constantFrom('1', '2');
/** Names that a manager uses; the names of unrelated managers differ in their beginning. */
const named = (prefix: string) => fc.constantFrom(`${prefix}x`, `${prefix}y`, `${prefix}z`);
const map = (prefix: string, value: fc.Arbitrary<unknown> = text) =>
  fc.dictionary(named(prefix), value, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const some = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .record(fields, { requiredKeys: [], noNullPrototype: true })
    .filter((made) => Object.keys(made).length > 0);

const list = (prefix: string, key: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.uniqueArray(
    fc.record({ [key]: named(prefix), ...fields }, { requiredKeys: [key], noNullPrototype: true }),
    {
      selector: (item) => item[key],
      minLength: 1,
      maxLength: 3,
    },
  );

/** What a manager applies. Unrelated ones leave out what is owned as a whole. */
const bodyOf = (prefix: string, related: boolean): fc.Arbitrary<JsonObject> =>
  some({
    metadata: some({
      labels: map(prefix),
      annotations: map(prefix),
      finalizers: fc.uniqueArray(named(prefix), { minLength: 1 }),
    }),
    spec: some({
      ...(related ? { replicas: fc.nat(3), minReadySeconds: fc.nat(2) } : {}),
      template: some({
        spec: some({
          ...(related ? { nodeSelector: map(prefix) } : {}),
          containers: list(prefix, 'name', {
            image: text,
            env: list(prefix, 'name', { value: text }),
          }),
        }),
      }),
    }),
  }) as fc.Arbitrary<JsonObject>;

const managers = fc.constantFrom('alice', 'bob', 'carol');
/** A history of applies, each of which takes what it wants. */
const history = fc.array(fc.tuple(managers, bodyOf('', true)), { minLength: 1, maxLength: 6 });
const stateAfter = (steps: readonly (readonly [string, JsonObject])[]): State =>
  steps.reduce((state, [manager, body]) => apply(state, manager, body, true), nothing);

/** Every node of a set as a member. */
function everyNode(set: FieldSet): FieldSet {
  const out: FieldSet = {};
  for (const element in set)
    if (element !== '.') out[element] = { '.': noFields, ...everyNode(set[element]!) };
  return out;
}

/** The order of items is that of the last apply, so lists are compared without it. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(unordered).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, unordered(inner)]),
  );
}

describe('applying', () => {
  test('the same again changes nothing', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const state = stateAfter(steps);
        const [manager, body] = steps.at(-1)!;
        const again = apply(state, manager, body);
        expect(sameJson(again.merged, state.merged)).toBe(true);
        expect(again.entries).toEqual(state.entries);
      }),
    );
  });

  test('leaves nobody with a field that is not there', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const { merged, entries } = stateAfter(steps);
        const there = everyNode(fieldsOf(type, merged));
        for (const { fieldsV1 } of entries) expect(fieldPaths(difference(fieldsV1, there))).toEqual([]);
      }),
    );
  });

  test('what two managers own changes nothing, and conflicts with nobody', () => {
    fc.assert(
      fc.property(bodyOf('', true), bodyOf('', true), (first, second) => {
        const one = apply(nothing, 'alice', first);
        const two = apply(one, 'bob', second, true);
        // What bob took from alice has the value that bob gave it.
        const both = merge(type, first, second);
        const three = apply(two, 'carol', both);
        expect(unordered(three.merged)).toEqual(unordered(two.merged));
        expect(three.entries.filter(({ manager }) => manager !== 'carol')).toEqual(two.entries);
      }),
    );
  });

  test('unrelated things gives the same in any order', () => {
    fc.assert(
      fc.property(bodyOf('a', false), bodyOf('b', false), (first, second) => {
        const one = apply(apply(nothing, 'alice', first), 'bob', second);
        const other = apply(apply(nothing, 'bob', second), 'alice', first);
        expect(unordered(one.merged)).toEqual(unordered(other.merged));
        expect(one.entries).toEqual(other.entries);
      }),
    );
  });

  test('nothing any more removes what one manager had, and nothing else', () => {
    fc.assert(
      fc.property(bodyOf('a', false), bodyOf('b', false), (first, second) => {
        const both = apply(apply(nothing, 'alice', first), 'bob', second);
        const left = apply(both, 'alice', {});
        expect(left.entries.map(({ manager }) => manager)).toEqual(['bob']);
        const gone = fieldsOf(type, left.merged);
        for (const { fieldsV1 } of apply(nothing, 'alice', first).entries)
          for (const [element, node] of Object.entries(fieldsV1))
            if (isMember(node)) expect(gone).not.toHaveProperty([element]);
        expect(fieldPaths(difference(left.entries[0]!.fieldsV1, everyNode(gone)))).toEqual([]);
      }),
    );
  });
});
