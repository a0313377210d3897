/** Bodies of requests: content types, and errors for unreadable ones. Wire contract, section 4.4. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created, pod, pods } from './objects.ts';

const client = useCluster();

/** Bytes from hex with blanks. */
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const createNamespace =
  '6b387300 0a0f 0a027631 12094e616d657370616365 121c 0a14 0a0470626e73 1200 1a00 2200 2a00 3200 3800 4200 1200 1a020a00 1a00 2200';
const emptyDeleteOptions = '6b387300 0a13 0a027631 120d44656c6574654f7074696f6e73 1200 1a00 2200';

describe('JSON', () => {
  const types = [
    undefined,
    '*/*',
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'x/y',
  ];
  for (const [i, type] of types.entries())
    it(`is what a body of type ${type} is read as`, async () => {
      const reply = await client.post(configMaps, JSON.stringify(configMap(`json-${i}`)), {
        ...(type ? { 'Content-Type': type } : {}),
      });
      expect(reply.status, reply.text).toBe(200);
    });
});

describe('YAML', () => {
  const types = ['application/yaml', 'text/yaml', 'application/x-yaml', 'application/yaml; charset=utf-8'];
  for (const [i, type] of types.entries())
    it(`is what a body of type ${type} is read as`, async () => {
      const text = `# a comment\nmetadata:\n  name: yaml-${i}\ndata:\n  a: "1"\n`;
      const reply = await client.post(configMaps, text, { 'Content-Type': type });
      expect(reply.body).toMatchObject({ kind: 'ConfigMap', data: { a: '1' } });
    });

  it('is one document', async () => {
    const text = 'metadata: {name: one}\n---\nmetadata: {name: two}\n';
    expect((await client.post(configMaps, text, { 'Content-Type': 'application/yaml' })).status).toBe(400);
  });
});

describe('protobuf', () => {
  const type = { 'Content-Type': 'application/vnd.kubernetes.protobuf' };

  it('creates a namespace as kubectl sends it', async () => {
    const reply = await client.post('/api/v1/namespaces', hex(createNamespace), type);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.body).toMatchObject({
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'pbns' },
      status: { phase: 'Active' },
    });
    expect(reply.body.metadata).not.toHaveProperty('generateName');
  });

  it('deletes with empty options', async () => {
    await created(client, configMaps, configMap('pb'));
    const reply = await client.delete(`${configMaps}/pb`, hex(emptyDeleteOptions), type);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  it('is refused when it is none', async () => {
    for (const body of ['{}', hex('6b387300'), hex('6b387300 ff'), hex(createNamespace).subarray(0, 40)])
      expect((await client.post('/api/v1/namespaces', body, type)).status).toBe(400);
  });
});

describe('kind and apiVersion', () => {
  it('default to those of the path', async () => {
    const { body } = await client.post(configMaps, configMap('bare'));
    expect(body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
    const empty = await client.post(configMaps, { kind: '', apiVersion: '', ...configMap('emptied') });
    expect(empty.body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  });

  it('must be those of the path', async () => {
    expectFailure(
      await client.post(pods, { kind: 'Service', apiVersion: 'v1', metadata: { name: 'x' } }),
      400,
      'BadRequest',
      'Service in version "v1" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown conversion',
    );
    expectFailure(
      await client.post(pods, { kind: 'Pod', apiVersion: 'v9', metadata: { name: 'x' } }),
      400,
      'BadRequest',
      /^Pod in version "v9" cannot be handled as a Pod: no kind "Pod" is registered for version "v9" in scheme ".+"$/,
    );
  });
});

describe('a body that cannot be read', () => {
  const unrecognized = (kind: string, rest: string): string =>
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${rest}`;

  it('is named by its beginning', async () => {
    const nothing = await client.post(configMaps, undefined);
    expectFailure(
      nothing,
      400,
      'BadRequest',
      unrecognized('ConfigMap', 'unexpected end of JSON input (<empty>)'),
    );
    const text = await client.post(configMaps, 'hello');
    expectFailure(
      text,
      400,
      'BadRequest',
      unrecognized('ConfigMap', "invalid character 'h' looking for beginning of value (68656c6c6f)"),
    );
    const broken = await client.post(configMaps, '{"metadata":{"name":"a-long-name-that-is-cut"');
    expectFailure(
      broken,
      400,
      'BadRequest',
      unrecognized('ConfigMap', 'unexpected end of JSON input ({"metadata":{"name":"a-long-na ...)'),
    );
    const long = 'no object, and longer than what is shown';
    const shown = `${Buffer.from(long).subarray(0, 30).toString('hex')} ...`;
    for (const [type, why] of [
      ['application/json', "invalid character 'o' in literal null (expecting 'u')"],
      ['application/yaml', 'json: cannot unmarshal string into Go value of type struct'],
      ['application/vnd.kubernetes.protobuf', 'does not appear to be a protobuf message'],
    ] as const) {
      const { status, body } = await client.post(configMaps, long, { 'Content-Type': type });
      expect({ status, message: body.message }, type).toEqual({
        status: 400,
        message: expect.stringContaining(why),
      });
      expect(body.message.endsWith(` (${shown})`), body.message).toBe(true);
    }
    const unnamed = await client.post(configMaps, '{"kind":7,"metadata":{"name":"seven"}}');
    expect(unnamed.body.message).toMatch(/ \(\{"kind":7,"metadata":\{"name":" \.\.\.\)$/);
  });

  it('may be one with more behind it', async () => {
    const reply = await client.post(configMaps, `${JSON.stringify(configMap('trailed'))} {}`);
    expect(reply.status).toBe(400);
    expect(reply.body.message).toContain('after top-level value');
  });

  it('may have values of the wrong type: nothing is coerced', async () => {
    expectFailure(
      await client.post(pods, { metadata: { name: 'x' }, spec: { containers: 'c' } }),
      400,
      'BadRequest',
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
    );
    for (const object of [
      configMap('coerced', { a: 1 }),
      configMap('coerced', {}, { labels: { a: true } }),
      pod('coerced', {}, { terminationGracePeriodSeconds: '30' }),
    ])
      expect((await client.post('spec' in object ? pods : configMaps, object)).status).toBe(400);
  });

  it('may be no object', async () => {
    for (const text of ['[]', '"text"', '7', 'null'])
      expect((await client.post(configMaps, text)).status).toBe(400);
  });
});

describe('a patch', () => {
  it('has one of the known types', async () => {
    await created(client, configMaps, configMap('patched'));
    const refusal =
      '415: Unsupported Media Type: accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml';
    for (const type of [
      'application/json',
      'text/plain',
      'application/yaml',
      'application/apply-patch+cbor',
    ]) {
      const reply = await client.patch(`${configMaps}/patched`, { data: { a: '2' } }, type);
      expectFailure(reply, 415, 'UnsupportedMediaType', refusal, {});
    }
    const untyped = await client.request('PATCH', `${configMaps}/patched`, '{}');
    expectFailure(untyped, 415, 'UnsupportedMediaType', refusal, {});
    expect((await client.get(`${configMaps}/patched`)).body.data).toEqual({ a: '1' });
  });

  it('may say more about its type', async () => {
    const reply = await client.patch(
      `${configMaps}/patched`,
      {},
      'application/merge-patch+json; charset=utf-8',
    );
    expect(reply.status).toBe(200);
  });
});

describe('a request without a body', () => {
  it('may have a type all the same', async () => {
    const type = { 'Content-Type': 'application/vnd.kubernetes.protobuf' };
    expect((await client.get(configMaps, type)).status).toBe(200);
    await created(client, configMaps, configMap('typed'));
    expect((await client.delete(`${configMaps}/typed`, undefined, type)).status).toBe(200);
  });
});

describe('size', () => {
  it('is bounded at 3 MiB', async () => {
    const reply = await client.post(configMaps, `{"data":{"a":"${'x'.repeat(3 * 1024 * 1024)}"}}`);
    expectFailure(reply, 413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728');
  });
});
