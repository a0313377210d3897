/**
 * Proves that any malformed patch is refused and changes nothing, and that keys with a meaning in JavaScript,
 * such as `__proto__`, are stored and read back like any other, without reaching Object.prototype.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Body, jsonPatch, mergePatch, strategicPatch } from '../support/http.ts';
import { useTarget } from '../support/target.ts';

const configMap = '/api/v1/namespaces/default/configmaps/kept';
const template = '/api/v1/namespaces/default/podtemplates/kept';
const target = useTarget();

beforeAll(async () => {
  await target.post('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'kept', finalizers: ['example.com/a', 'example.com/b'] },
    data: { k: 'v' },
  });
  await target.post('/api/v1/namespaces/default/podtemplates', {
    metadata: { name: 'kept' },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  });
});

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

const rejected = /the server rejected our request due to an error in our request/;
const operations = (count: number, operation: object): object[] => Array(count).fill(operation);

/** Each copy doubles the size. */
const copyBomb = [
  { op: 'add', path: '/data/x', value: 'x'.repeat(1000) },
  ...Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/c${i}` })),
];

/** Every operation nests one level deeper than the JSON parser allows. */
const nesting = [
  { op: 'add', path: '/data', value: {} },
  ...Array.from({ length: 1200 }, (_, i) => ({ op: 'add', path: `/data${'/a'.repeat(i + 1)}`, value: {} })),
];

describe('a JSON patch', () => {
  it.each([
    ['not JSON', '{{', 400, /error decoding patch: invalid character/],
    ['empty', '', 400, /unexpected end of JSON input/],
    ['an object', '{}', 400, /cannot unmarshal object/],
    ['a text', '"x"', 400, /cannot unmarshal string/],
    ['a list of numbers', '[1]', 400, /cannot unmarshal number/],
    ['null operations', '[null]', 422, rejected],
    ['operations of numbers', '[{"op":1,"path":"/data"}]', 400, /jsonPatchOp\.op of type string/],
    ['an unknown operation', '[{"op":"drop","path":"/data"}]', 422, rejected],
    ['__proto__ as operation', '[{"op":"__proto__","path":"/data"}]', 422, rejected],
    [
      '10,001 operations',
      operations(10_001, { op: 'test', path: '/kind', value: 'ConfigMap' }),
      413,
      /10001/,
    ],
    [
      '10,000 operations, the last a failure',
      [
        ...operations(9_999, { op: 'add', path: '/data/n', value: 'x' }),
        { op: 'test', path: '/kind', value: 'Pod' },
      ],
      422,
      rejected,
    ],
    ['a copy bomb', copyBomb, 422, rejected],
    ['nesting without end', nesting, 422, rejected],
    ['100,000 levels', `[{"op":"add","path":"/data","value":${'['.repeat(100_000)}`, 400, /max depth/],
    ['an index beyond the end', [{ op: 'add', path: '/metadata/finalizers/3', value: 'x' }], 422, rejected],
    ['a huge index', [{ op: 'add', path: '/metadata/finalizers/4294967295', value: 'x' }], 422, rejected],
    [
      'an index beyond numbers',
      [{ op: 'add', path: `/metadata/finalizers/${'9'.repeat(400)}`, value: 'x' }],
      422,
      rejected,
    ],
    ['a negative index', [{ op: 'remove', path: '/metadata/finalizers/-1' }], 422, rejected],
    ['an index with a plus', [{ op: 'remove', path: '/metadata/finalizers/+1' }], 422, rejected],
    ['an index with zeros', [{ op: 'remove', path: '/metadata/finalizers/01' }], 422, rejected],
    ['length as index', [{ op: 'replace', path: '/metadata/finalizers/length', value: 0 }], 422, rejected],
    ['a path that is none', [{ op: 'add', path: 'data', value: {} }], 422, rejected],
    ['a path with a bad escape', [{ op: 'add', path: '/data/~2', value: '' }], 422, rejected],
    ['a path of a million parts', [{ op: 'add', path: '/a'.repeat(1_000_000), value: '' }], 422, rejected],
    ['a path through __proto__', [{ op: 'add', path: '/__proto__/polluted', value: 'x' }], 422, rejected],
    [
      'a path through constructor',
      [{ op: 'add', path: '/constructor/prototype/polluted', value: 'x' }],
      422,
      rejected,
    ],
    ['a move into itself', [{ op: 'move', from: '/metadata', path: '/metadata/labels' }], 422, rejected],
    ['removing everything', [{ op: 'remove', path: '' }], 422, rejected],
    ['everything replaced by null', [{ op: 'replace', path: '', value: null }], 422, /cannot unmarshal null/],
    [
      'everything replaced by a list',
      [{ op: 'replace', path: '', value: [] }],
      422,
      /cannot unmarshal array/,
    ],
    [
      'metadata replaced by text',
      [{ op: 'replace', path: '/metadata', value: 'x' }],
      422,
      /cannot unmarshal/,
    ],
    ['metadata removed', [{ op: 'remove', path: '/metadata' }], 400, /name must be provided/],
    [
      'another name',
      [{ op: 'replace', path: '/metadata/name', value: 'other' }],
      400,
      /does not match the name/,
    ],
    ['another namespace', [{ op: 'replace', path: '/metadata/namespace', value: 'other' }], 400, /namespace/],
    ['another uid', [{ op: 'replace', path: '/metadata/uid', value: 'x' }], 422, /field is immutable/],
    ['a stale version', [{ op: 'replace', path: '/metadata/resourceVersion', value: '1' }], 409, /modified/],
    [
      'a version that is none',
      [{ op: 'replace', path: '/metadata/resourceVersion', value: 'x' }],
      409,
      /modified/,
    ],
  ] as const)('may be %s', async (_what, body, code, says) => {
    await target.refuses(() => target.patch(configMap, body as Body, jsonPatch), code, says);
  });

  it('that only moves elements of a huge list about is stopped', async () => {
    const many = Array(500_000).fill(0);
    const moves = operations(9_000, { op: 'add', path: '/data/0', value: 0 });
    const body = [{ op: 'add', path: '/data', value: many }, ...moves];
    await target.refuses(() => target.patch(configMap, body, jsonPatch), 422, rejected);
  });
});

describe('a merge patch', () => {
  it.each([
    ['not JSON', '{', 400, /error decoding patch: unexpected end of JSON input/],
    ['null', 'null', 400, /Invalid JSON Patch/],
    ['a list', '[]', 400, /cannot unmarshal array/],
    ['a text', '"x"', 400, /cannot unmarshal string/],
    ['a number', '1e400', 400, /cannot unmarshal number/],
    ['100,000 levels', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400, /exceeded max depth/],
    ['a number for text', '{"data":{"k":7}}', 422, /cannot unmarshal number/],
    ['a list for a map', '{"data":[]}', 422, /cannot unmarshal array/],
    ['a map for a list', '{"metadata":{"finalizers":{}}}', 422, /cannot unmarshal object/],
    ['without metadata', '{"metadata":null}', 400, /name must be provided/],
    ['without a name', '{"metadata":{"name":null}}', 400, /name must be provided/],
    ['a kind that is no text', '{"kind":7}', 422, /cannot unmarshal number/],
    ['150,000 finalizers', () => ({ metadata: { finalizers: Array(150_000).fill('a') } }), 422, /./],
    ['a stale version', '{"metadata":{"resourceVersion":"1"},"data":{"k":"w"}}', 409, /modified/],
  ] as const)('may be %s', async (_what, body, code, says) => {
    const sent = typeof body === 'function' ? body() : body;
    await target.refuses(() => target.patch(configMap, sent, mergePatch), code, says);
  });
});

const containers = (...elements: unknown[]) => ({ template: { spec: { containers: elements } } });

describe('a strategic merge patch', () => {
  it.each([
    ['not JSON', '{', 400, /unexpected end of JSON input/],
    ['a list', '[]', 400, /cannot unmarshal array/],
    ['100,000 levels', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400, /exceeded max depth/],
    ['999 levels', `${'{"data":'.repeat(999)}1${'}'.repeat(999)}`, 422, /unrecognized type: string/],
    ['an unknown directive', { $patch: 'bogus' }, 400, /unknown patch type: bogus/],
    ['merge as directive', { $patch: 'merge' }, 400, /unknown patch type: merge/],
    ['a directive that is no text', { $patch: { a: 1 } }, 400, /unknown patch type/],
    ['the deletion of everything', { $patch: 'delete' }, 400, /name must be provided/],
    ['the replacement of everything', { $patch: 'replace' }, 400, /name must be provided/],
    ['keys to retain that are no list', { data: { $retainKeys: 7 } }, 400, /retainKeys/],
    ['keys to retain without those it sets', { data: { $retainKeys: ['a'], b: 'c' } }, 400, /retainKeys/],
    [
      'an order that is no list',
      { metadata: { '$setElementOrder/finalizers': 7 } },
      400,
      /expected a \[\]interface/,
    ],
    ['an order of nothing', { $setElementOrder: [] }, 400, /setElementOrder/],
    [
      'an order of something else',
      { metadata: { '$setElementOrder/finalizers': [{}], finalizers: ['example.com/c'] } },
      400,
      /order in patch list/,
    ],
    ['a deletion of maps', { metadata: { '$deleteFromPrimitiveList/finalizers': [{}] } }, 400, /./],
    ['a deletion from nowhere', { $deleteFromPrimitiveList: ['a'] }, 400, /primitive list/],
    ['labels as a list', { metadata: { labels: ['a'] } }, 422, /cannot restore map from slice/],
    ['metadata as text', { metadata: 'x' }, 422, /cannot restore struct from: string/],
    ['lists of different things', { metadata: { finalizers: ['example.com/c', 7] } }, 500, /not identical/],
    ['lists of lists', { metadata: { finalizers: [[]] } }, [422, 500], /./],
    [
      '150,000 finalizers',
      () => ({ metadata: { finalizers: Array.from({ length: 150_000 }, (_, i) => `a${i}`) } }),
      422,
      /./,
    ],
  ] as const)('may be %s', async (_what, body, code, says) => {
    const sent = typeof body === 'function' ? body() : body;
    await target.refuses(() => target.patch(configMap, sent, strategicPatch), code, says);
  });

  it.each([
    [
      'elements without their key',
      containers({ image: 'x' }),
      500,
      /does not contain declared merge key: name/,
    ],
    ['an object as key', containers({ name: {} }), 422, /unrecognized type: map/],
    ['a number as key', containers({ name: 7 }), [422, 500], /./],
    ['elements of all sorts', containers({ name: 'c' }, 7), 500, /not identical/],
    ['null elements', containers(null), 500, /not identical/],
    ['merge in an element', containers({ $patch: 'merge', name: 'c' }), 400, /merging lists cannot/],
    ['an unknown directive in an element', containers({ $patch: 'x', name: 'c' }), 400, /unknown patch type/],
    ['__proto__ as key', containers({ name: '__proto__' }), 422, /./],
  ] as const)('of a list may have %s', async (_what, body, code, says) => {
    await target.refuses(() => target.patch(template, body, strategicPatch), code, says);
  });
});

describe('the media type of a patch', () => {
  it.each(['', 'application/json', 'text/plain', '__proto__', 'constructor', 'application/json-patch+jsonx'])(
    'may be %j',
    async (type) => {
      await target.refuses(() => target.patch(configMap, '{"data":{"k":"w"}}', type), 415);
    },
  );

  it('is refused together with a body that does not end', async () => {
    const body = 'x'.repeat(2_000_000);
    await target.refuses(() => target.patch(configMap, body, 'text/plain'), 415);
  });
});

describe('keys that mean something to JavaScript', () => {
  const keys = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    'length',
  ];
  const data = `{${keys.map((key) => `"${key}":"${key} it is"`).join()}}`;
  const path = '/api/v1/namespaces/default/configmaps';
  const sorted = `"data":{${[...keys]
    .sort()
    .map((key) => `"${key}":"${key} it is"`)
    .join()}}`;
  const body = (name: string) =>
    `{"metadata":{"name":"${name}","annotations":{"constructor":"x"}},"data":${data}}`;

  it('are stored by a create and read by every verb', async () => {
    expect((await target.post(path, body('keys'))).text).toContain(sorted);
    const watch = await target.watch(`${path}?watch=1&fieldSelector=metadata.name%3Dkeys&resourceVersion=0`);
    await watch.next();
    expect(watch.lines[0]).toContain(sorted);
    watch.close();
    for (const read of [`${path}/keys`, path, `${path}?pretty=false&limit=500`])
      expect((await target.get(read)).text).toContain(sorted);
    const pretty = await target.get(`${path}/keys?pretty=true`);
    for (const key of keys) expect(pretty.text).toContain(`"${key}": "${key} it is"`);
    const yaml = await target.get(`${path}/keys`, { Accept: 'application/yaml' });
    for (const key of keys) expect(yaml.text).toContain(`  ${key}: ${key} it is`);
  });

  it('are stored by a replace, in JSON and YAML', async () => {
    await target.post(path, { metadata: { name: 'put' } });
    expect((await target.put(`${path}/put`, body('put'))).text).toContain(sorted);
    await target.put(`${path}/put`, { metadata: { name: 'put' } });
    const text = `metadata: {name: put}\ndata:\n${keys.map((key) => `  ${key}: ${key} it is\n`).join('')}`;
    const reply = await target.put(`${path}/put`, text, { 'Content-Type': 'application/yaml' });
    expect(reply.text).toContain(sorted);
  });

  it.each([
    ['JSON', jsonPatch, `[{"op":"add","path":"/data","value":${data}}]`],
    [
      'one by one',
      jsonPatch,
      `[{"op":"add","path":"/data","value":{}},${keys.map((key) => `{"op":"add","path":"/data/${key}","value":"${key} it is"}`).join()}]`,
    ],
    ['merge', mergePatch, `{"data":${data}}`],
    ['strategic', strategicPatch, `{"data":${data}}`],
  ])('are added and removed by a patch: %s', async (what, type, patch) => {
    const name = `patched-${what.replaceAll(' ', '-').toLowerCase()}`;
    await target.post(path, { metadata: { name } });
    expect((await target.patch(`${path}/${name}`, patch, type)).text).toContain(sorted);
    const nulls = `{"data":{${keys.map((key) => `"${key}":null`).join()}}}`;
    const removal = `[${keys.map((key) => `{"op":"remove","path":"/data/${key}"}`).join()}]`;
    const reply = await target.patch(`${path}/${name}`, type === jsonPatch ? removal : nulls, type);
    expect(reply.status).toBe(200);
    expect(reply.text).not.toContain('"data"');
  });

  it('are kept in a Secret, whichever way they came', async () => {
    const secrets = '/api/v1/namespaces/default/secrets';
    const encoded = Buffer.from('x').toString('base64');
    const sent = `{"metadata":{"name":"s"},"data":{"__proto__":"${encoded}"},"stringData":{"constructor":"x"}}`;
    expect((await target.post(secrets, sent)).text).toContain(
      `"data":{"__proto__":"${encoded}","constructor":"${encoded}"}`,
    );
  });

  it('are kept when a patch removes only one of them', async () => {
    await target.post(path, body('one'));
    const reply = await target.patch(`${path}/one`, '{"data":{"__proto__":null}}', mergePatch);
    expect(Object.keys(reply.body.data)).toHaveLength(keys.length - 1);
    expect(reply.text).not.toContain('__proto__');
  });

  it('are unknown fields where the model has none of that name', async () => {
    const sent =
      '{"metadata":{"name":"unknown"},"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const reply = await target.post(`${path}?dryRun=All`, sent);
    expect(reply.status).toBe(200);
    expect(reply.warnings).toHaveLength(2);
    const strict = () => target.post(`${path}?fieldValidation=Strict`, sent);
    await target.refuses(strict, 400, /unknown field "__proto__", unknown field "constructor"/);
  });

  it('do not come from what objects inherit', async () => {
    for (const kind of [
      'constructor',
      '__proto__',
      'toString',
      'watch/constructor',
      'namespaces/default/toString',
    ])
      await target.refuses(() => target.get(`/api/v1/${kind}`), 404, /could not find/);
    for (const group of ['constructor', '__proto__', 'toString/v1', '__proto__/v1/pods'])
      expect((await target.get(`/apis/${group}`)).status).toBe(404);
    await target.refuses(() => target.get('/api/v1/namespaces/default/pods/p/constructor'), 404);
  });
});

describe('text', () => {
  it('may hold NUL, half surrogate pairs and line ends; what has no UTF-8 form becomes U+FFFD', async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    const sent =
      '{"metadata":{"name":"text"},"data":{"nul":"a\\u0000b","half":"a\\ud800b","lines":"a\\r\\n\\u2028","rtl":"\\u202e"}}';
    expect((await target.post(path, sent)).status).toBe(200);
    const { data } = (await target.get(`${path}/text`)).body;
    expect(data).toEqual({ nul: 'a\u0000b', half: 'a\ufffdb', lines: 'a\r\n\u2028', rtl: '\u202e' });
    expect(
      (await target.get(path)).body.items.find(
        (item: { metadata: { name: string } }) => item.metadata.name === 'text',
      ).data,
    ).toEqual(data);
  });

  it('may spell the marker that the server looks for when it stamps a version', async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    const marker = '"uid":"evil","resourceVersion":"1"';
    const body = { metadata: { generateName: 'a-', annotations: { a: marker } }, data: { uid: marker } };
    const reply = await target.post(path, body);
    expect(reply.body.metadata.annotations.a).toBe(marker);
    expect(reply.body.metadata.resourceVersion).toBe(await target.version());
    expect((await target.get(`${path}/${reply.body.metadata.name}`)).text).toBe(reply.text);
  });
});
