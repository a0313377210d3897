/** Proves properties of any strategic merge patch: order, idempotence, no unrelated changes, no changes in place. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { PatchError } from '../errors/patch-error.ts';
import { type Model, modelOf } from '../model/model.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';
import { applyStrategicMerge } from './strategic-merge.ts';

const POD = modelOf('Pod');

/** The result, or the patch error as text. Anything else that is thrown fails the test. */
const outcome = (model: Model, original: object, patch: unknown): unknown => {
  try {
    return applyStrategicMerge(model, original, patch);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return `${error.code} ${error.kind}: ${error.message}`;
  }
};

const names = (...list: string[]): JsonObject[] => list.map((name) => ({ name }));

describe('any patch', () => {
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
  const text = fc.constantFrom('a', 'b', 'c', 'd');
  const nullable = <T>(arbitrary: fc.Arbitrary<T>, withNull: boolean): fc.Arbitrary<T | null> =>
    withNull ? fc.option(arbitrary) : arbitrary;
  const labels = (withNull: boolean) => fc.dictionary(text, nullable(text, withNull));
  const keyed = (key: string, members: Record<string, fc.Arbitrary<unknown>>) =>
    fc
      .tuple(
        fc.uniqueArray(text, { maxLength: 4 }),
        fc.array(fc.record(members, { requiredKeys: [] }), { minLength: 4, maxLength: 4 }),
      )
      .map(([ids, elements]) => ids.map((id, position) => ({ ...elements[position], [key]: id })));
  /** A pod, or a patch of one without directives: with nulls, and lists in any order. */
  const pod = (withNull: boolean): fc.Arbitrary<JsonObject> => {
    const container = {
      image: nullable(text, withNull),
      args: fc.array(text, { maxLength: 2 }),
      env: keyed('name', { value: nullable(text, withNull) }),
      volumeMounts: keyed('mountPath', { readOnly: fc.boolean() }),
      resources: fc.record({ limits: labels(withNull) }, { requiredKeys: [] }),
    };
    return fc.record(
      {
        metadata: fc.record(
          { labels: labels(withNull), finalizers: fc.uniqueArray(text, { maxLength: 4 }) },
          { requiredKeys: [] },
        ),
        spec: nullable(
          fc.record(
            {
              nodeSelector: nullable(labels(withNull), withNull),
              containers: keyed('name', container),
              tolerations: fc.array(fc.record({ key: text })),
            },
            { requiredKeys: [] },
          ),
          withNull,
        ),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<JsonObject>;
  };

  test('that is empty changes nothing', () => {
    fc.assert(
      fc.property(pod(false), (original) => {
        expect(JSON.stringify(applyStrategicMerge(POD, original, {}))).toBe(JSON.stringify(original));
      }),
    );
  });

  test('without directives does the same once and twice, and leaves its input alone', () => {
    fc.assert(
      fc.property(pod(false), pod(true), (original, patch) => {
        const before = JSON.stringify([original, patch]);
        const once = applyStrategicMerge(POD, original, patch);
        const result = JSON.stringify(once);
        expect(JSON.stringify(applyStrategicMerge(POD, once, patch))).toBe(result);
        spoil(once);
        expect(JSON.stringify([original, patch])).toBe(before);
      }),
      { numRuns: rounds(1000) },
    );
  });

  test('puts lists in the order of the rule', () => {
    const list = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'));
    fc.assert(
      fc.property(list, list, fc.boolean(), (original, named, directive) => {
        const containers = names(...named);
        const patch = directive
          ? {
              '$setElementOrder/containers': containers,
              containers: containers.filter((_, index) => index % 2 === 0),
            }
          : { containers };
        const { spec } = applyStrategicMerge(
          POD,
          { spec: { containers: names(...original) } },
          { spec: patch },
        );
        const result = (spec as { containers: { name: string }[] }).containers.map(({ name }) => name);
        const present = named.filter(
          (name, index) => !directive || index % 2 === 0 || original.includes(name),
        );
        expect(result).toEqual(
          interleaved(
            present,
            original.filter((name) => !named.includes(name)),
            original,
          ),
        );
      }),
      { numRuns: rounds(1000) },
    );
  });

  /** The contract's rule: the server's head comes first only if both heads are known and it was first before. */
  function interleaved(named: string[], others: string[], original: string[]): string[] {
    const [p, s] = [[...named], [...others]];
    const result: string[] = [];
    while (p.length > 0 || s.length > 0) {
      const both = p.length > 0 && s.length > 0;
      const known = both && original.includes(p[0]!) && original.includes(s[0]!);
      const takeOther = p.length === 0 || (known && original.indexOf(s[0]!) < original.indexOf(p[0]!));
      result.push((takeOther ? s : p).shift()!);
    }
    return result;
  }

  const KEYS = [
    'metadata',
    'spec',
    'status',
    'containers',
    'env',
    'ports',
    'containerPort',
    'finalizers',
    'labels',
    'name',
  ];
  const DIRECTIVES = [
    '$patch',
    '$retainKeys',
    '$setElementOrder',
    '$setElementOrder/containers',
    '$setElementOrder/env',
    '$setElementOrder/finalizers',
    '$deleteFromPrimitiveList/finalizers',
    '$deleteFromPrimitiveList/containers',
    '__proto__',
    'constructor',
  ];
  const anything = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
    object: fc
      .array(fc.tuple(fc.constantFrom(...KEYS, ...DIRECTIVES), tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries)),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<unknown>(null, 'a', 'b', 'replace', 'delete', 'merge', 80, 0.5, true, 'name'),
      fc.array(tie('object'), { maxLength: 3 }),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
  }));

  test('is applied or refused with a patch error, changes nothing in place and always does the same', () => {
    let applied = 0;
    fc.assert(
      fc.property(
        fc.oneof(pod(false), anything.object),
        fc.oneof(anything.object, fc.jsonValue()),
        (original, patch) => {
          const before = JSON.stringify([original, patch]);
          const first = outcome(POD, original, patch);
          if (isJsonObject(first)) applied += 1;
          expect(JSON.stringify(outcome(POD, original, patch))).toBe(JSON.stringify(first));
          expect(JSON.stringify([original, patch])).toBe(before);
        },
      ),
      { numRuns: rounds(5000) },
    );
    expect(applied).toBeGreaterThan(rounds(500));
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
  });
});

/** Empties every list and map of a value. */
function spoil(value: unknown): void {
  if (Array.isArray(value)) for (const item of value.splice(0)) spoil(item);
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    spoil(value[name]);
    delete value[name];
  }
}
