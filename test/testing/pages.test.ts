/** Proves that tests in other languages reach the kit over HTTP, and that others do not. */

import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { startTestingServer } from '../../src/testing/testing-server.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startTestingServer({ store: 'memory', simulatedNodes: 1, secure: true });
});
afterAll(() => cluster.close());

const ask = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${cluster.url}/wherry/testing${path}`, {
    method,
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { code: answer.status, value: (await answer.json()) as Record<string, any> };
};
const maps = '/api/v1/namespaces/default/configmaps';
const create = async (name: string) =>
  (
    await fetch(cluster.url + maps, {
      method: 'POST',
      headers: { 'User-Agent': 'robot' },
      body: JSON.stringify({ metadata: { name } }),
    })
  ).status;
const read = async (name: string) => (await fetch(`${cluster.url}${maps}/${name}`)).status;

describe('/wherry/testing', () => {
  it('takes snapshots, returns to them, and resets', async () => {
    await create('one');
    expect(await ask('POST', '/snapshots/first')).toEqual({ code: 200, value: {} });
    await create('two');
    expect((await ask('GET', '/snapshots')).value).toEqual({ snapshots: ['first'] });
    expect((await ask('POST', '/snapshots/first/restore')).code).toBe(200);
    expect([await read('one'), await read('two')]).toEqual([200, 404]);
    expect((await ask('POST', '/snapshots/other/restore')).value).toMatchObject({
      code: 404,
      message: 'there is no snapshot "other"',
    });
    expect((await ask('DELETE', '/snapshots/first')).code).toBe(200);
    await ask('POST', '/reset');
    expect(await read('one')).toBe(404);
  });

  it('tells when everything has settled, and moves the clock', async () => {
    expect((await ask('GET', '/settled?timeoutMs=60000')).value).toEqual({ settled: true });
    expect((await ask('POST', '/clock', { freeze: true })).value.frozen).toBe(true);
    const before = Date.parse((await ask('GET', '/clock')).value.now);
    const { value } = await ask('POST', '/clock', { advance: '10m' });
    expect(Date.parse(value.now) - before).toBe(600_000);
    expect((await ask('POST', '/clock', { thaw: true })).value.frozen).toBe(false);
    expect((await ask('POST', '/clock', { advance: 'soon' })).code).toBe(400);
    expect((await ask('POST', '/clock', { stop: true })).code).toBe(400);
    expect((await ask('GET', '/settled?timeoutMs=-1')).code).toBe(400);
  });

  it('adds and removes faults, and shows requests', async () => {
    const added = await ask('POST', '/faults', { verb: 'create', kind: 'ConfigMap', status: 503 });
    expect(await create('three')).toBe(503);
    expect((await ask('GET', '/faults')).value.faults).toMatchObject([{ id: added.value.id, hits: 1 }]);
    expect((await ask('DELETE', `/faults/${added.value.id}`)).code).toBe(200);
    expect((await ask('DELETE', `/faults/${added.value.id}`)).code).toBe(404);
    expect(await create('three')).toBe(200);
    const { requests } = (await ask('GET', '/requests?verb=create&userAgent=rob*')).value;
    expect(requests.slice(-2)).toMatchObject([
      { code: 503, body: { metadata: { name: 'three' } } },
      { code: 200 },
    ]);
    const { versions } = (await ask('GET', '/history?object=ConfigMap/three')).value;
    expect(versions).toMatchObject([{ type: 'ADDED', manager: 'robot' }]);
    expect((await ask('GET', '/timeline?object=ConfigMap/three')).value.timeline).toContain('ADDED by robot');
    expect((await ask('GET', '/history?object=Ship/one')).code).toBe(400);
    expect((await ask('DELETE', '/requests')).code).toBe(200);
    expect((await ask('GET', '/requests')).value).toEqual({ requests: [] });
    await ask('POST', '/chaos', { seed: '1', rate: 1 });
    await ask('DELETE', '/faults');
    expect(await read('three')).toBe(200);
  });

  it('drops and starts nodes', async () => {
    expect((await ask('POST', '/nodes/simulated-1/drop')).code).toBe(200);
    expect((await ask('POST', '/nodes/simulated-1/drop')).code).toBe(400);
    expect((await ask('POST', '/nodes/simulated-1/start')).code).toBe(200);
    expect((await ask('POST', '/pods/default/nobody/kill')).code).toBe(400);
  });

  it('refuses bad requests with a Status, and changes nothing', async () => {
    expect((await ask('POST', '/faults', { status: 503, close: true })).code).toBe(400);
    expect((await ask('POST', '/faults', '[]')).code).toBe(400);
    expect((await ask('POST', '/faults', '{"status":')).value).toMatchObject({ kind: 'Status', code: 400 });
    expect((await ask('POST', '/faults', `{"name":"${'x'.repeat(2_000_000)}"}`)).code).toBe(413);
    expect((await ask('PUT', '/reset')).code).toBe(405);
    expect((await ask('GET', '/faults')).value).toEqual({ faults: [] });
    expect((await fetch(`${cluster.url}/wherry/testing/nothing`)).status).toBe(404);
  });

  it('is described in OpenAPI', async () => {
    const index = (await (await fetch(`${cluster.url}/openapi/v3`)).json()) as { paths: object };
    expect(index.paths).toHaveProperty(['wherry/testing']);
    const document = await (await fetch(`${cluster.url}/openapi/v3/wherry/testing`)).json();
    expect(await new Validator().validate(document as Record<string, unknown>)).toMatchObject({
      valid: true,
    });
    const listed = (await ask('GET', '')).value.paths as { method: string; path: string }[];
    for (const { method, path } of listed)
      expect((document as any).paths[path.replace(/\/$/, '')]).toHaveProperty(method.toLowerCase());
  });

  it('is for this machine alone, and only where it was asked for', async () => {
    const plain = await start({ store: 'memory', controllers: false });
    const paths = ['', '/snapshots', '/clock', '/faults', '/requests', '/settled'];
    const codes = await Promise.all(
      paths.map(async (path) => (await fetch(`${plain.url}/wherry/testing${path}`)).status),
    );
    await plain.close();
    expect(new Set(codes)).toEqual(new Set([404]));
    const { KubeConfig } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromString(cluster.kubeconfigFor('wherry-admin'));
    const https = await import('node:https');
    const options: Record<string, unknown> = {};
    await config.applyToHTTPSOptions(options as never);
    const code = await new Promise((resolve, reject) => {
      https
        .get(`${cluster.secureUrl}/wherry/testing/clock`, options, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
        .on('error', reject);
    });
    expect(code).toBe(404);
  });
});
