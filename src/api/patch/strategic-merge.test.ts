/** Proves that merging and the directives of maps and lists do what they do in Kubernetes, errors included. */
import { describe, expect, test } from 'vitest';
import { PatchError } from '../errors/patch-error.ts';
import { Model, modelOf } from '../model/model.ts';
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

describe('maps', () => {
  test('are merged; null deletes, scalars and other types replace', () => {
    const original = {
      metadata: { labels: { a: '1', b: '2' }, annotations: { c: '3' } },
      spec: { nodeName: 'n' },
    };
    const patch = { metadata: { labels: { a: null, b: '4', d: '5', e: null }, annotations: null } };
    expect(outcome(POD, original, patch)).toEqual({
      metadata: { labels: { b: '4', d: '5' } },
      spec: { nodeName: 'n' },
    });
  });

  test('that are new come without nulls and directives', () => {
    const patch = {
      nodeSelector: { a: null, b: '1' },
      affinity: { nodeAffinity: null },
      volumes: [{ name: 'v', emptyDir: { medium: null }, $retainKeys: ['name', 'emptyDir'] }],
      containers: [
        { name: 'x', $patch: 'delete' },
        { $patch: 'replace' },
        { name: 'c', '$setElementOrder/env': [] },
      ],
      securityContext: { $patch: 'replace', runAsUser: 1 },
      '$deleteFromPrimitiveList/x': [1],
    };
    expect(patchSpec({}, patch)).toEqual({
      nodeSelector: { b: '1' },
      affinity: {},
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [{ name: 'c' }],
    });
    // The same when the value had another type.
    expect(
      patchSpec({ nodeSelector: null, affinity: [] }, { nodeSelector: patch.nodeSelector, affinity: {} }),
    ).toEqual({
      nodeSelector: { b: '1' },
      affinity: {},
    });
  });

  test('$patch: replace puts the patch in place', () => {
    const nodeSelector = { a: '1' };
    expect(patchSpec({ nodeSelector }, { nodeSelector: { $patch: 'replace', b: '2', c: null } })).toEqual({
      nodeSelector: { b: '2' },
    });
    expect(outcome(POD, { spec: { nodeName: 'n' } }, { $patch: 'replace', kind: 'Pod' })).toEqual({
      kind: 'Pod',
    });
  });

  test('$patch: delete empties', () => {
    expect(patchSpec({ nodeSelector: { a: '1' } }, { nodeSelector: { $patch: 'delete', b: '2' } })).toEqual({
      nodeSelector: {},
    });
    expect(outcome(POD, { spec: {} }, { $patch: 'delete' })).toEqual({});
  });

  test.each<[directive: unknown, error: string]>([
    ['merge', '400 directive: unknown patch type: merge in map: map[$patch:merge b:2]'],
    ['', '400 directive: unknown patch type:  in map: map[$patch: b:2]'],
    [1, '400 directive: unknown patch type: %!s(int64=1) in map: map[$patch:1 b:2]'],
    [null, '400 directive: unknown patch type: %!s(<nil>) in map: map[$patch:<nil> b:2]'],
  ])('$patch: %j is unknown', (directive, error) => {
    expect(patchSpec({ nodeSelector: { a: '1' } }, { nodeSelector: { $patch: directive, b: '2' } })).toBe(
      error,
    );
  });

  test('$retainKeys drops what it does not list', () => {
    const volumes = [{ name: 'v', emptyDir: {}, x: 1 }];
    const change = { name: 'v', hostPath: { path: '/' }, emptyDir: null };
    expect(patchSpec({ volumes }, { volumes: [{ ...change, $retainKeys: ['name', 'hostPath'] }] })).toEqual({
      volumes: [{ name: 'v', hostPath: { path: '/' } }],
    });
    expect(
      patchSpec({ nodeSelector: { a: '1', b: '2' } }, { nodeSelector: { $retainKeys: ['b', 3] } }),
    ).toEqual({
      nodeSelector: { b: '2' },
    });
  });

  test.each<[patch: object]>([
    [{ $retainKeys: ['a'], b: '2' }],
    [{ $retainKeys: 'a' }],
    [{ $retainKeys: null }],
    [{ $retainKeys: { a: 1 } }],
  ])('$retainKeys is refused in %j', (patch) => {
    expect(patchSpec({ nodeSelector: { a: '1' } }, { nodeSelector: patch })).toBe(
      '400 directive: invalid patch format of retainKeys',
    );
  });

  test('keys that the model does not know are merged as maps and atomic lists', () => {
    const original = { x: { a: 1, b: { c: 1 } }, y: [{ name: 'a' }], z: ['a'] };
    const patch = { x: { b: { d: 2 } }, y: [{ name: 'b' }], z: ['b'], '$setElementOrder/y': [{ name: 'b' }] };
    expect(patchSpec(original, patch)).toEqual({
      x: { a: 1, b: { c: 1, d: 2 } },
      y: [{ name: 'b' }],
      z: ['b'],
    });
  });
});

test('the model reaches into the values of a map', () => {
  const model = new Model('Model', 'core-v1', {
    order: [],
    fields: { map: { type: 'map', values: { ref: 'PodSpec' } } },
  });
  const original = { map: { a: { containers: [{ name: 'c', image: 'i' }] } } };
  const patch = { map: { a: { containers: [{ name: 'c', tty: true }] }, b: { containers: names('d') } } };
  expect(outcome(model, original, patch)).toEqual({
    map: { a: { containers: [{ name: 'c', image: 'i', tty: true }] }, b: { containers: names('d') } },
  });
});

describe('lists of maps', () => {
  test.each<[patch: unknown[], result: string]>([
    [names('c3'), 'c3 c1 c2'],
    [names('c1'), 'c1 c2'],
    [names('c2'), 'c1 c2'],
    [names('c2', 'c1'), 'c2 c1'],
    [names('c2', 'c0'), 'c1 c2 c0'],
    [names('c0', 'c2'), 'c0 c1 c2'],
    [names('c2', 'c0', 'c1'), 'c2 c0 c1'],
    [[], 'c1 c2'],
    [[{ name: 'c1', $patch: 'delete' }], 'c2'],
    [[{ name: 'c9', $patch: 'delete' }], 'c1 c2'],
    [
      [
        { name: 'c1', $patch: 'delete' },
        { name: 'c2', $patch: 'delete' },
      ],
      '',
    ],
    [[...names('c3'), { name: 'c1', $patch: 'delete' }], 'c3 c2'],
    [[{ name: 'c1', $patch: 'delete' }, ...names('c1')], 'c1 c2'],
    [[{ $patch: 'replace' }], ''],
    [[...names('c5'), { $patch: 'replace' }, ...names('c1')], 'c5 c1'],
    [[{ name: 'c2', $patch: 'replace' }, { name: 'c1', $patch: 'delete' }, ...names('c4')], 'c4'],
  ])('[c1 c2] with %j is %j', (patch, result) => {
    const spec = patchSpec({ containers: names('c1', 'c2') }, { containers: patch });
    expect((spec as { containers: { name: string }[] }).containers.map(({ name }) => name).join(' ')).toBe(
      result,
    );
  });

  test('interleave: untouched elements keep their place among those that were there', () => {
    const spec = patchSpec({ containers: names('a', 'b', 'c', 'd') }, { containers: names('c', 'x', 'a') });
    expect(spec).toEqual({ containers: names('b', 'c', 'x', 'a', 'd') });
  });

  test('merge elements with the same key, at any depth', () => {
    const containers = [
      {
        name: 'c',
        image: 'i',
        ports: [{ containerPort: 80, name: 'http' }],
        env: [{ name: 'A', value: '1' }],
      },
    ];
    const patch = [
      {
        name: 'c',
        ports: [{ containerPort: 80, name: 'web' }, { containerPort: 443 }],
        env: [{ name: 'A', value: null }],
      },
    ];
    expect(patchSpec({ containers }, { containers: patch })).toEqual({
      containers: [
        {
          name: 'c',
          image: 'i',
          ports: [{ containerPort: 80, name: 'web' }, { containerPort: 443 }],
          env: [{ name: 'A' }],
        },
      ],
    });
  });

  test('keys that stand twice: the first is merged, all are deleted', () => {
    const ports = [{ port: 80, protocol: 'TCP' }, { port: 443 }, { port: 80, protocol: 'UDP' }];
    const service = (patch: object[]): unknown =>
      outcome(modelOf('Service'), { spec: { ports } }, { spec: { ports: patch } });
    expect(service([{ port: 80, name: 'a' }])).toEqual({
      spec: {
        ports: [{ port: 80, protocol: 'TCP', name: 'a' }, { port: 80, protocol: 'UDP' }, { port: 443 }],
      },
    });
    expect(service([{ port: 80, $patch: 'delete' }])).toEqual({ spec: { ports: [{ port: 443 }] } });
    expect(
      service([
        { port: 1, name: 'a' },
        { port: 1, protocol: 'UDP' },
      ]),
    ).toEqual({
      spec: { ports: [{ port: 1, name: 'a', protocol: 'UDP' }, ports[0], ports[2], ports[1]] },
    });
  });

  test('a key is compared with its type', () => {
    const ports = [{ containerPort: 80, name: 'a' }];
    expect(
      patchSpec(
        { containers: [{ name: 'c', ports }] },
        { containers: [{ name: 'c', ports: [{ containerPort: '80' }] }] },
      ),
    ).toEqual({
      containers: [{ name: 'c', ports: [{ containerPort: '80' }, { containerPort: 80, name: 'a' }] }],
    });
  });

  test.each<[patch: unknown[], error: string]>([
    [[{ image: 'q' }], '500 directive: map: map[image:q] does not contain declared merge key: name'],
    [
      [{ $patch: 'delete', image: 'q' }],
      '400 directive: map: map[$patch:delete image:q] does not contain declared merge key: name',
    ],
    [
      [{ image: 'q' }, { $patch: 'replace' }],
      '500 directive: map: map[image:q] does not contain declared merge key: name',
    ],
    [[{ $patch: 'merge', name: 'c' }], '400 directive: merging lists cannot yet be specified in the patch'],
    [[{ $patch: 'x', name: 'c' }], '400 directive: unknown patch type: x in map: map[$patch:x name:c]'],
    [['c'], '500 directive: list element types are not identical: [[map[name:c]] [c]]'],
    [[null], '500 directive: list element types are not identical: [[map[name:c]] [<nil>]]'],
    [[[]], '500 directive: list element types are not identical: [[map[name:c]] [[]]]'],
    [
      [{ name: {} }],
      '422 invalid:  "" is invalid: patch: Invalid value: "map[spec:map[containers:[map[name:map[]]]]]": unrecognized type: map',
    ],
  ])('%j is refused', (patch, error) => {
    expect(patchSpec({ containers: names('c') }, { containers: patch })).toBe(error);
  });

  test('an empty list is one too', () => {
    expect(patchSpec({ containers: [] }, { containers: [] })).toEqual({ containers: [] });
    expect(patchSpec({ containers: [] }, { containers: names('c') })).toEqual({ containers: names('c') });
    expect(patchSpec({ containers: [] }, { containers: ['c'] })).toBe(
      '500 directive: expected a map[string]interface {}, but received a string',
    );
    expect(patchSpec({ containers: [] }, { containers: [null] })).toBe(
      '500 directive: list element types are not identical: [[] [<nil>]]',
    );
    expect(patchSpec({ containers: [] }, { containers: [['c']] })).toBe(
      '422 operation: the server rejected our request due to an error in our request',
    );
  });

  test('ten thousand elements are merged by key, not by looking for each', () => {
    const numbers = Array.from({ length: 10_000 }, (_, number) => number);
    const env = numbers.map((number) => ({ name: `E${number}`, value: 'old' }));
    const change = numbers.map((number) => ({ name: `E${number + 5_000}`, value: 'new' }));
    const order = [...change].reverse().map(({ name }) => ({ name }));
    const patched = patchSpec(
      { containers: [{ name: 'c', env }] },
      { containers: [{ name: 'c', '$setElementOrder/env': order, env: [...change].reverse() }] },
    ) as { containers: { env: { name: string; value: string }[] }[] };
    const result = patched.containers[0]!.env;
    expect(result).toHaveLength(15_000);
    expect(result.filter(({ value }) => value === 'old')).toEqual(env.slice(0, 5_000));
    expect(result.filter(({ value }) => value === 'new')).toEqual([...change].reverse());
  });
});

describe('lists of scalars', () => {
  const finalizers = (original: unknown, patch: object): unknown => {
    const result = outcome(POD, { metadata: { finalizers: original } }, { metadata: patch });
    return isJsonObject(result) ? (result['metadata'] as JsonObject)['finalizers'] : result;
  };

  test.each<[original: unknown, patch: object, result: unknown]>([
    [['a', 'b'], { finalizers: ['b', 'c'] }, ['a', 'b', 'c']],
    [['a', 'b'], { finalizers: ['c', 'b'] }, ['c', 'a', 'b']],
    [['a', 'b'], { finalizers: ['c'] }, ['c', 'a', 'b']],
    [['a', 'b', 'a'], { finalizers: ['d', 'd'] }, ['d', 'a', 'b']],
    [['a', 'b'], { finalizers: [] }, ['a', 'b']],
    [['a', 'b'], { finalizers: null }, undefined],
    [undefined, { finalizers: ['b', 'a'] }, ['b', 'a']],
    [['a', 'b', 'c'], { '$deleteFromPrimitiveList/finalizers': ['c', 'a', 'x'] }, ['b']],
    [['a'], { '$deleteFromPrimitiveList/finalizers': ['a'] }, []],
    [['a'], { '$deleteFromPrimitiveList/finalizers': [] }, ['a']],
    [undefined, { '$deleteFromPrimitiveList/finalizers': ['a'] }, undefined],
    [['a', 'b'], { '$deleteFromPrimitiveList/finalizers': null }, undefined],
    [['a', 'b'], { '$deleteFromPrimitiveList/finalizers': 'a' }, ['a', 'b']],
    [['a', 'b'], { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c'] }, ['c', 'b']],
    [
      ['a', 'b', 'c'],
      {
        '$setElementOrder/finalizers': ['d', 'b'],
        '$deleteFromPrimitiveList/finalizers': ['a', 'c'],
        finalizers: ['d'],
      },
      ['d', 'b'],
    ],
    [['a', 'b', 'c'], { '$setElementOrder/finalizers': ['c', 'a'] }, ['b', 'c', 'a']],
    // Deletions are applied last, also for values that the same patch adds.
    [
      ['b'],
      {
        '$setElementOrder/finalizers': ['a'],
        '$deleteFromPrimitiveList/finalizers': ['a'],
        finalizers: ['a'],
      },
      ['b'],
    ],
  ])('%j with %j is %j', (original, patch, result) => {
    expect(finalizers(original, patch)).toEqual(result);
  });

  test.each<[patch: object, error: string]>([
    [{ $deleteFromPrimitiveList: ['a'] }, '400 directive: invalid patch format of primitive list'],
    [
      { '$deleteFromPrimitiveListX/finalizers': ['a'] },
      '400 directive: invalid patch format of primitive list',
    ],
    [{ finalizers: [1] }, '500 directive: list element types are not identical: [[a] [1]]'],
    [{ finalizers: [{}] }, '500 directive: list element types are not identical: [[a] [map[]]]'],
    [
      { '$deleteFromPrimitiveList/ownerReferences': [{ uid: '1' }], ownerReferences: [{ uid: '2' }] },
      '400 directive: invalid patch format of primitive list',
    ],
  ])('%j is refused', (patch, error) => {
    const original = { metadata: { finalizers: ['a'], ownerReferences: [{ uid: '1' }] } };
    expect(outcome(POD, original, { metadata: patch })).toBe(error);
  });
});

describe('the whole patch', () => {
  test('null changes nothing, other values are refused', () => {
    expect(outcome(POD, { kind: 'Pod' }, null)).toEqual({ kind: 'Pod' });
    for (const [patch, word] of [
      [[], 'array'],
      ['x', 'string'],
      [1, 'number'],
      [true, 'bool'],
    ])
      expect(outcome(POD, {}, patch)).toBe(
        `400 decode: json: cannot unmarshal ${word} into Go value of type map[string]interface {}`,
      );
  });

  test.each<[model: string, patch: object, value: string, why: string]>([
    ['ConfigMap', { data: 'x' }, 'map[data:x]', 'cannot restore map from string'],
    ['ConfigMap', { data: ['x'] }, 'map[data:[x]]', 'cannot restore map from slice'],
    ['Pod', { metadata: 1 }, 'map[metadata:1]', 'cannot restore struct from: int64'],
    ['Pod', { spec: { containers: {} } }, 'map[spec:map[containers:map[]]]', 'cannot restore slice from map'],
    [
      'Pod',
      { spec: { hostAliases: [true] } },
      'map[spec:map[hostAliases:[true]]]',
      'cannot restore struct from: bool',
    ],
    ['Pod', { metadata: { labels: [] } }, 'map[metadata:map[labels:[]]]', 'cannot restore map from slice'],
  ])('%s with a value of the wrong shape: %j', (model, patch, value, why) => {
    const original = { metadata: { labels: { a: '1' } }, spec: { containers: names('c') }, data: { a: '1' } };
    expect(outcome(modelOf(model), original, patch)).toBe(
      `422 invalid:  "" is invalid: patch: Invalid value: "${value}": ${why}`,
    );
  });

  test('a long patch is not repeated in the error', () => {
    const error = outcome(modelOf('ConfigMap'), {}, { binaryData: { a: 'x'.repeat(100_000) }, data: 'x' });
    expect((error as string).length).toBeLessThan(5_000);
  });

  test('keys of Object.prototype are ordinary keys', () => {
    const original = JSON.parse('{"data":{"__proto__":"1","a":"2"}}');
    const patch = JSON.parse(
      '{"data":{"constructor":"3"},"__proto__":{"x":1},"metadata":{"labels":{"__proto__":"4"}}}',
    );
    expect(JSON.stringify(outcome(modelOf('ConfigMap'), original, patch))).toBe(
      '{"data":{"__proto__":"1","a":"2","constructor":"3"},"__proto__":{"x":1},"metadata":{"labels":{"__proto__":"4"}}}',
    );
    expect(JSON.stringify(outcome(POD, original, JSON.parse('{"data":{"__proto__":null}}')))).toBe(
      '{"data":{"a":"2"}}',
    );
    const retained = JSON.parse('{"data":{"$retainKeys":["__proto__"],"__proto__":"5"}}');
    expect(JSON.stringify(outcome(POD, original, retained))).toBe('{"data":{"__proto__":"5"}}');
    expect(JSON.stringify(outcome(POD, {}, JSON.parse('{"toString":null}')))).toBe('{}');
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});
