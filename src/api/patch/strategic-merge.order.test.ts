/** Proves that `$setElementOrder` puts lists in order, and is refused when it does not fit, as in Kubernetes. */
import { describe, expect, test } from 'vitest';
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

/** Patches the spec of a pod. */
const patchSpec = (spec: unknown, patch: unknown): unknown => {
  const result = outcome(POD, { spec }, { spec: patch });
  return isJsonObject(result) ? result['spec'] : result;
};

const names = (...list: string[]): JsonObject[] => list.map((name) => ({ name }));

describe('$setElementOrder', () => {
  const order = (...list: string[]): object => ({ '$setElementOrder/containers': names(...list) });

  test.each<[original: string[], patch: object, result: string]>([
    [['a', 'b', 'c'], order('c', 'b', 'a'), 'c b a'],
    [['a', 'b', 'c'], order('c', 'a'), 'b c a'],
    [['a', 'b'], { ...order('b', 'n', 'a'), containers: names('n') }, 'b n a'],
    [['a', 'b'], { ...order('a', 'b', 'n'), containers: names('n') }, 'a b n'],
    [['a', 'b', 's'], { ...order('n', 'b', 'a'), containers: names('b', 'a') }, 'b a s'],
    [
      ['a', 'b', 's'],
      { ...order('b', 'n'), containers: [...names('n'), { name: 'a', $patch: 'delete' }] },
      'b n s',
    ],
    [['s', 'a', 'b'], { ...order('b', 'a'), containers: [] }, 's b a'],
    [['a', 'b'], { ...order(), containers: names('n') }, 'n a b'],
    [['a', 'b'], { ...order(), containers: names('b', 'n') }, 'a b n'],
    [['a', 'b'], order(), 'a b'],
    [['a', 'b'], { ...order('x'), containers: [{ $patch: 'replace' }, ...names('x')] }, 'x'],
  ])('%j with %j is %j', (original, patch, result) => {
    const spec = patchSpec({ containers: names(...original) }, patch) as { containers: { name: string }[] };
    expect(spec.containers.map(({ name }) => name).join(' ')).toBe(result);
  });

  test('of a list that is not there orders what the patch brings', () => {
    const patch = {
      ...order('a', 'b'),
      containers: [{ name: 'a', image: null }, { name: 'x', $patch: 'delete' }, { name: 'b' }],
    };
    expect(patchSpec({}, patch)).toEqual({ containers: names('a', 'b') });
    expect(patchSpec({ containers: null }, patch)).toEqual({ containers: names('a', 'b') });
    expect(patchSpec({}, order('a'))).toEqual({});
    expect(patchSpec({}, { ...order(), containers: [] })).toEqual({ containers: [] });
  });

  test('works in elements of lists', () => {
    const containers = [{ name: 'c', env: names('A', 'B') }];
    const change = {
      name: 'c',
      '$setElementOrder/env': names('B', 'C', 'A'),
      env: [{ name: 'C', value: '1' }],
    };
    expect(patchSpec({ containers }, { containers: [change] })).toEqual({
      containers: [{ name: 'c', env: [{ name: 'B' }, { name: 'C', value: '1' }, { name: 'A' }] }],
    });
  });

  test('orders the scalars of an atomic list', () => {
    const containers = [{ name: 'c', args: ['a', 'b', 'c'] }];
    const patch = (change: object): object => ({ containers: [{ name: 'c', ...change }] });
    expect(patchSpec({ containers }, patch({ '$setElementOrder/args': ['c', 'a'] }))).toEqual({
      containers: [{ name: 'c', args: ['b', 'c', 'a'] }],
    });
    expect(patchSpec({ containers }, patch({ '$setElementOrder/args': ['z', 'y'], args: ['z'] }))).toEqual({
      containers: [{ name: 'c', args: ['z'] }],
    });
  });

  test.each<[patch: object, error: string]>([
    [
      { ...order('a', 'b'), containers: names('b', 'a') },
      "400 directive: The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    ],
    [
      { ...order('a'), containers: names('a', 'n') },
      "400 directive: The order in patch list:\n[map[name:a] map[name:n]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [
      { ...order('a'), containers: [{ name: 'a' }, { image: 'q' }] },
      "400 directive: The order in patch list:\n[map[name:a] map[image:q]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [
      { ...order('a', 'b'), containers: [{ image: 'q' }] },
      '400 directive: map: map[image:q] does not contain declared merge key: name',
    ],
    // Elements with another directive are only skipped before the end of the list, as in Kubernetes.
    [
      { ...order('a'), containers: [{ name: 'a' }, { $patch: 'replace' }] },
      "400 directive: The order in patch list:\n[map[name:a] map[$patch:replace]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [{ $setElementOrder: [] }, '400 directive: invalid patch format of setElementOrder list'],
    [
      { '$setElementOrder/containers': 'a' },
      '400 directive: expected a []interface {}, but received a string',
    ],
    [
      { '$setElementOrder/containers': null },
      '400 directive: expected a []interface {}, but received a %!s(<nil>)',
    ],
    [
      { ...order('a'), containers: null },
      '400 directive: expected a []interface {}, but received a %!s(<nil>)',
    ],
    [
      { ...order('a'), containers: {} },
      '400 directive: expected a []interface {}, but received a map[string]interface {}',
    ],
    [
      { '$setElementOrder/nodeSelector': [] },
      '400 directive: expected a []interface {}, but received a map[string]interface {}',
    ],
    [
      { '$setElementOrder/containers': ['a'] },
      '400 directive: expected a map[string]interface {}, but received a string',
    ],
    [
      { '$setElementOrder/containers': [{}] },
      '400 directive: map: map[] does not contain declared merge key: name',
    ],
    [
      { '$setElementOrder/tolerations': [{}] },
      '400 directive: cannot merge lists without merge key for struct',
    ],
  ])('%j is refused', (patch, error) => {
    const spec = { containers: names('a'), nodeSelector: {}, tolerations: [{ key: 'k' }] };
    expect(patchSpec(spec, patch)).toBe(error);
  });
});
