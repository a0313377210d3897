/** Options of writes: dryRun, fieldManager, fieldValidation, and the warnings they lead to. Wire, section 10. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, jsonPatch, type Reply, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalidOptions } from './failure.ts';
import { configMap, configMaps, created, currentVersion, pod, pods, service, services } from './objects.ts';

const client = useCluster();

beforeAll(async () => {
  await created(client, configMaps, configMap('c'));
});

/** The same bad query on each kind of write. */
async function everyWrite(query: string): Promise<[string, Reply][]> {
  return [
    ['CreateOptions', await client.post(`${configMaps}?${query}`, configMap('new'))],
    ['UpdateOptions', await client.put(`${configMaps}/c?${query}`, configMap('c'))],
    ['PatchOptions', await client.patch(`${configMaps}/c?${query}`, {})],
  ];
}

describe('dryRun', () => {
  it('creates nothing, and shows what would be', async () => {
    const version = (await client.get(configMaps)).body.metadata.resourceVersion;
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${version}`);
    const { status, body } = await client.post(`${configMaps}?dryRun=All`, {
      metadata: { generateName: 'dry-' },
    });
    expect(status).toBe(200);
    expect(body.metadata.name).toMatch(/^dry-.{5}$/);
    expect(body.metadata.uid).toBeTruthy();
    expect(body.metadata.creationTimestamp).toBeTruthy();
    expect(body.metadata).not.toHaveProperty('resourceVersion');
    expect((await client.get(`${configMaps}/${body.metadata.name}`)).status).toBe(404);
    await created(client, configMaps, configMap('wet'));
    expect((await watch.next()).object.metadata.name).toBe('wet');
    watch.close();
  });

  it('changes nothing, and shows the change under the old version', async () => {
    const before = (await client.get(`${configMaps}/c`)).body;
    for (const reply of [
      await client.put(`${configMaps}/c?dryRun=All`, configMap('c', { a: 'dry' })),
      await client.patch(`${configMaps}/c?dryRun=All`, { data: { a: 'dry' } }),
    ]) {
      expect(reply.body.data).toEqual({ a: 'dry' });
      expect(reply.body.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    }
    expect((await client.get(`${configMaps}/c`)).body).toEqual(before);
  });

  it('deletes nothing, whether query or body say so', async () => {
    await created(client, pods, pod('p'));
    for (const reply of [
      await client.delete(`${configMaps}/c?dryRun=All`),
      await client.delete(`${configMaps}/c`, { dryRun: ['All'] }),
    ])
      expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success', details: { name: 'c' } });
    expect((await client.delete(`${pods}/p?dryRun=All`)).body.kind).toBe('Pod');
    expect((await client.delete(`${configMaps}?dryRun=All`)).body.kind).toBe('ConfigMapList');
    expect((await client.get(`${configMaps}/c`)).status).toBe(200);
    expect((await client.get(`${pods}/p`)).body.metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('checks all the same', async () => {
    expect((await client.post(`${configMaps}?dryRun=All`, configMap('c'))).status).toBe(409);
    expect((await client.post(`${configMaps}?dryRun=All`, configMap('A_b'))).status).toBe(422);
    expect((await client.delete(`${configMaps}/gone?dryRun=All`)).status).toBe(404);
  });

  it('takes nothing away that a real write needs', async () => {
    const wanted = service('addressed');
    const dry = await client.post(`${services}?dryRun=All`, wanted);
    expect(dry.status, dry.text).toBe(200);
    const { spec } = await created(client, services, wanted);
    const again = { ...service('again'), spec: { ...service('again').spec, clusterIP: spec.clusterIP } };
    await client.delete(`${services}/addressed?dryRun=All`);
    if (spec.clusterIP) expect((await client.post(services, again)).status).toBe(422);
  });

  it('knows All and nothing else', async () => {
    const text = 'Unsupported value: ["Foo"]: supported values: "All"';
    for (const [kind, reply] of [
      ...(await everyWrite('dryRun=Foo')),
      ['DeleteOptions', await client.delete(`${configMaps}/c?dryRun=Foo`)],
      ['DeleteOptions', await client.delete(`${configMaps}/c`, { dryRun: ['Foo'] })],
    ] as [string, Reply][])
      expectInvalidOptions(reply, kind, 'dryRun', text);
  });
});

describe('fieldManager', () => {
  it('is free text', async () => {
    for (const [, reply] of await everyWrite('fieldManager=some%20one&dryRun=All'))
      expect(reply.status).toBe(200);
  });

  it('is bounded and printable', async () => {
    for (const [kind, reply] of await everyWrite(`fieldManager=${'x'.repeat(129)}`))
      expectInvalidOptions(reply, kind, 'fieldManager', 'Too long: may not be more than 128 bytes');
    for (const [kind, reply] of await everyWrite('fieldManager=abc%07'))
      expectFailure(
        reply,
        422,
        'Invalid',
        /^\w+Options\.meta\.k8s\.io "" is invalid: fieldManager: Invalid value: "abc.+": invalid character U\+0007 \(at position 3\)$/,
        expect.objectContaining({ group: 'meta.k8s.io', kind }),
      );
  });

  it.each([
    ['a space that does not break', '\u00a0', '00A0'],
    ['an ideographic space', '\u3000', '3000'],
    ['a line separator', '\u2028', '2028'],
    ['a character that is not assigned', '\u0378', '0378'],
    ['one that is for private use', '\u{f0000}', 'F0000'],
  ])('does not hold %s; places are counted in bytes', async (_what, character, code) => {
    for (const [, reply] of await everyWrite(`fieldManager=${encodeURIComponent(`ä${character}`)}`)) {
      expect(reply.status).toBe(422);
      expect(reply.body.message).toContain(`: invalid character U+${code} (at position 2)`);
    }
  });
});

describe('force', () => {
  it('is for apply patches', async () => {
    expectInvalidOptions(
      await client.patch(`${configMaps}/c?force=true`, {}),
      'PatchOptions',
      'force',
      'Forbidden: may not be specified for non-apply patch',
    );
  });
});

describe('fieldValidation', () => {
  const odd = { ...pod('odd'), spec: { containers: [{ name: 'c', image: 'i', imagee: 'x' }], foo: 1 } };
  const unknown = ['unknown field "spec.containers[0].imagee"', 'unknown field "spec.foo"'];
  const warning = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
  const write = (validation: string, object: Json = odd): Promise<Reply> =>
    client.post(`${pods}?dryRun=All${validation && `&fieldValidation=${validation}`}`, object);

  it('Ignore drops what is unknown', async () => {
    const reply = await write('Ignore');
    expect(reply.status).toBe(200);
    expect(reply.warnings).toEqual([]);
    expect(reply.body.spec).not.toHaveProperty('foo');
    expect(reply.body.spec.containers[0]).not.toHaveProperty('imagee');
  });

  it('Warn, the default, drops it and warns of each, in document order', async () => {
    for (const validation of ['', 'Warn']) {
      const reply = await write(validation);
      expect(reply.status).toBe(200);
      expect(reply.warnings).toEqual(unknown.map(warning));
    }
  });

  it('Strict refuses it', async () => {
    expectFailure(
      await write('Strict'),
      400,
      'BadRequest',
      `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${unknown.join(', ')}`,
    );
    const update = { ...configMap('c'), bogus: 1 };
    expectFailure(
      await client.put(`${configMaps}/c?fieldValidation=Strict`, update),
      400,
      'BadRequest',
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "bogus"',
    );
  });

  it('finds duplicates, of which the last counts', async () => {
    const text = '{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}';
    const reply = await client.post(`${configMaps}?dryRun=All`, text);
    expect(reply.body.data).toEqual({ a: '2' });
    expect(reply.warnings).toEqual([warning('duplicate field "data.a"')]);
    const strict = await client.post(`${configMaps}?fieldValidation=Strict`, text);
    expect(strict.body.message).toMatch(/strict decoding error: duplicate field "data\.a"$/);
    const both = '{"metadata":{"name":"twice"},"x":1,"x":2}';
    expect((await client.post(`${configMaps}?dryRun=All`, both)).warnings).toEqual([
      warning('unknown field "x"'),
    ]);
  });

  it('looks into YAML as well', async () => {
    const yaml = { 'Content-Type': 'application/yaml' };
    const text = 'metadata: {name: yaml}\nfoo: 1\ndata: {a: "1", a: "2"}\n';
    const reply = await client.post(`${configMaps}?dryRun=All`, text, yaml);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.warnings).toEqual(
      expect.arrayContaining([warning('unknown field "foo"'), warning('duplicate field "data.a"')]),
    );
  });

  it('looks at what a patch leads to', async () => {
    const path = `${configMaps}/c`;
    const warned = await client.patch(path, { bogus: 1 });
    expect(warned.warnings).toEqual([warning('unknown field "bogus"')]);
    const strict = await client.patch(`${path}?fieldValidation=Strict`, { bogus: 1 });
    expect(strict.status).toBe(422);
    expect(strict.body.message).toMatch(
      /^ "" is invalid: patch: Invalid value: ".*": strict decoding error: unknown field "bogus"$/,
    );
    const operation = [{ op: 'add', path: '/data/b', value: '2', foo: 1 }];
    const extra = await client.patch(`${path}?fieldValidation=Strict`, operation, jsonPatch);
    expect(extra.body.message).toMatch(/strict decoding error: json patch unknown field "\[0\]\.foo"$/);
    expect((await client.patch(path, operation, jsonPatch)).warnings).toEqual([
      warning('json patch unknown field "[0].foo"'),
    ]);
  });

  it('knows three ways', async () => {
    for (const [kind, reply] of await everyWrite('fieldValidation=Foo'))
      expectInvalidOptions(
        reply,
        kind,
        'fieldValidation',
        'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"',
      );
  });
});

describe('Warning', () => {
  it('is a header of its own for each text, quoted, and each once', async () => {
    const object = { ...configMap('warned'), 'a"b': 1, 'c\\d': 1 };
    const reply = await client.post(`${configMaps}?dryRun=All`, object);
    expect(reply.headers.warning).toContain('299 - "');
    expect(reply.warnings).toHaveLength(2);
    for (const text of reply.warnings) expect(text).toMatch(/^"(?:[^"\\]|\\.)*"$/);
  });

  it('is cut when there is too much of it', async () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${'x'.repeat(300)}${i}`, 1]));
    const reply = await client.post(`${configMaps}?dryRun=All`, { ...configMap('warned'), ...fields });
    expect(reply.status).toBe(200);
    const total = reply.warnings.reduce((sum, text) => sum + text.length, 0);
    expect(total).toBeLessThan(5000);
  });

  it('comes with refusals too', async () => {
    const reply = await client.post(configMaps, { ...configMap('A_b'), foo: 1 });
    expect(reply.status).toBe(422);
    expect(reply.warnings).toEqual(['"unknown field \\"foo\\""']);
  });

  it('does not move the counter', async () => {
    const before = await currentVersion(client);
    await client.patch(`${configMaps}/c`, { bogus: 1 });
    expect(await currentVersion(client)).toBe(before);
  });
});
