/** Proves that every request is logged in the format of audit.k8s.io/v1, and that clients cannot inject lines. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { StartError, start } from '../../src/cluster/index.ts';
import type { Json } from '../support/http.ts';
import { parseMetrics } from '../support/metrics.ts';
import { head, useTarget } from '../support/target.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-audit-'));
const file = path.join(folder, 'audit.log');
const configMaps = '/api/v1/namespaces/default/configmaps';
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const target = useTarget({ auditLog: file });

const events = (): Json[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** The events of a request, found by its audit id, once there are `count` of them. */
async function eventsOf(id: string, count = 1): Promise<Json[]> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const found = events().filter(({ auditID }) => auditID === id);
    if (found.length >= count) return found;
    if (Date.now() > deadline) throw new Error(`${found.length} events of ${id}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const micro = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const common = {
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'Metadata',
  stage: 'ResponseComplete',
  user: { username: 'system:unsecured', groups: ['system:masters', 'system:authenticated'] },
  sourceIPs: ['127.0.0.1'],
  requestReceivedTimestamp: micro,
  stageTimestamp: micro,
  annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
};

describe('a request', () => {
  it('is written down when it is done', async () => {
    // Proves every field of a create, including the name from the body, and that the body itself is not logged.
    await target.post(
      `${configMaps}?fieldManager=me`,
      { metadata: { generateName: 'a-' }, data: { secret: 'hush' } },
      { 'Audit-Id': 'one', 'User-Agent': 'tester/1.0' },
    );
    const [event] = await eventsOf('one');
    expect(event).toEqual({
      ...common,
      auditID: 'one',
      requestURI: `${configMaps}?fieldManager=me`,
      verb: 'create',
      userAgent: 'tester/1.0',
      objectRef: {
        resource: 'configmaps',
        namespace: 'default',
        name: expect.stringMatching(/^a-\w{5}$/),
        apiVersion: 'v1',
      },
      responseStatus: { metadata: {}, code: 200 },
    });
    expect(event.stageTimestamp >= event.requestReceivedTimestamp).toBe(true);
    expect(readFileSync(file, 'utf8')).not.toContain('hush');
  });

  it.each([
    ['GET', '/api/v1/nodes/n', 'get', { resource: 'nodes', name: 'n', apiVersion: 'v1' }, 404],
    ['GET', '/api/v1/pods', 'list', { resource: 'pods', apiVersion: 'v1' }, 200],
    ['GET', '/version', 'get', undefined, 200],
    ['GET', '/healthz', 'get', undefined, 200],
    [
      'DELETE',
      configMaps,
      'deletecollection',
      { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
      200,
    ],
    [
      'PATCH',
      '/apis/batch/v1/namespaces/default/jobs/j/status',
      'patch',
      {
        resource: 'jobs',
        namespace: 'default',
        name: 'j',
        apiGroup: 'batch',
        apiVersion: 'v1',
        subresource: 'status',
      },
      415,
    ],
    [
      'GET',
      '/api/v1/proxy/nodes/n/x',
      'proxy',
      { resource: 'nodes', name: 'n', apiVersion: 'v1', subresource: 'proxy' },
      404,
    ],
  ])('%s %s is told by its verb, object and code', async (method, uri, verb, objectRef, code) => {
    const id = `asked-${uri.replace(/\W/g, '-')}`.slice(0, 64);
    await target.request(method, uri, undefined, { 'Audit-Id': id });
    const found = await eventsOf(id);
    const event = found.at(-1);
    expect(event).toMatchObject({ ...common, requestURI: uri, verb, responseStatus: { code } });
    expect(event.objectRef).toEqual(objectRef);
    if (code >= 400)
      expect(event.responseStatus).toMatchObject({ status: 'Failure', message: expect.any(String) });
  });

  it('is known by the id its answer carries', async () => {
    const { headers } = await target.get('/api/v1/namespaces/none');
    const [event] = await eventsOf(String(headers['audit-id']));
    expect(event.responseStatus).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'namespaces "none" not found',
      reason: 'NotFound',
      code: 404,
    });
  });

  it('that is not let in is written down without a decision to allow it', async () => {
    await target.get('/api/v1/pods', { Host: 'evil.example', 'Audit-Id': 'stranger' });
    const [event] = await eventsOf('stranger');
    expect(event.responseStatus).toMatchObject({ code: 403, reason: 'Forbidden' });
    expect(event.annotations).toBeUndefined();
    await target.exchange(head('GET /api/%zz', 'Audit-Id: malformed', 'Connection: close'));
    expect((await eventsOf('malformed'))[0]).toMatchObject({
      requestURI: '/api/%zz',
      responseStatus: { code: 400 },
    });
  });
});

describe('what lasts', () => {
  it('is told of when it begins and when it ends', async () => {
    // Proves both stages of a watch.
    const watch = await target.watch(`${configMaps}?watch=true`, { 'Audit-Id': 'watching' });
    const [started] = await eventsOf('watching');
    expect(started).toMatchObject({ verb: 'watch', stage: 'ResponseStarted', responseStatus: { code: 200 } });
    watch.close();
    const stages = (await eventsOf('watching', 2)).map(({ stage }) => stage);
    expect(stages).toEqual(['ResponseStarted', 'ResponseComplete']);
  });

  it('is told of over WebSockets too', async () => {
    const url = `${target.url.replace('http', 'ws')}${configMaps}?watch=true`;
    const socket = new WebSocket(url, { headers: { 'Audit-Id': 'socket' } });
    await once(socket, 'open');
    socket.close();
    const both = await eventsOf('socket', 2);
    expect(both.map(({ stage, verb, responseStatus: { code } }) => [stage, verb, code])).toEqual([
      ['ResponseStarted', 'watch', 101],
      ['ResponseComplete', 'watch', 101],
    ]);
  });

  it('and is refused is told of once, command and all', async () => {
    // Proves streaming contract 8.7: exec is logged with its command, also when it fails.
    const uri = '/api/v1/namespaces/default/pods/none/exec?command=rm&command=-rf&stdout=1';
    const url = `${target.url.replace('http', 'ws')}${uri}`;
    const socket = new WebSocket(url, 'v4.channel.k8s.io', { headers: { 'Audit-Id': 'exec' } });
    await once(socket, 'error');
    const [event, ...rest] = await eventsOf('exec');
    expect(rest).toEqual([]);
    expect(event).toMatchObject({
      stage: 'ResponseComplete',
      verb: 'get',
      requestURI: uri,
      objectRef: { resource: 'pods', name: 'none', subresource: 'exec' },
      responseStatus: { code: 404, reason: 'NotFound' },
    });
  });
});

describe('hostile requests', () => {
  it('cannot break out of their line', async () => {
    // Proves that names, agents and ids are escaped, and that long ones are cut.
    const agent = '"},{"kind":"Event"\t\\ é';
    await target.get('/api/v1/namespaces/%22%0A%7B%7D/pods/%E2%80%A8%00', {
      'User-Agent': agent,
      'Audit-Id': 'evil',
    });
    const [event] = await eventsOf('evil');
    expect(event.objectRef).toMatchObject({ namespace: '"\n{}', name: '\u2028\u0000' });
    expect(event.userAgent).toBe(agent);
    const long = `/api/v1/pods?labelSelector=${'a'.repeat(100_000)}`;
    await target.get(long, { 'User-Agent': 'b'.repeat(5000), 'Audit-Id': 'long' });
    const [cut] = await eventsOf('long');
    expect(cut.requestURI).toBe(`${long.slice(0, 32 * 1024)}...TRUNCATED`);
    expect(cut.userAgent).toBe(`${'b'.repeat(1024)}...TRUNCATED`);
    const { headers } = await target.get('/api/v1/pods', { 'Audit-Id': '"} evil' });
    // Echoed unchanged, as Kubernetes does, and escaped in the log.
    expect(headers['audit-id']).toBe('"} evil');
    const [odd] = await eventsOf('"} evil');
    expect(odd).toMatchObject({ verb: 'list', responseStatus: { code: 200 } });
  });
});

it('the method of a request is cut, too: that of HTTP/2 may be as long as its head', async () => {
  const own = path.join(folder, 'methods.log');
  const cluster = await start({ store: 'memory', controllers: false, secure: {}, auditLog: own });
  const session = connect(cluster.secureUrl!, { rejectUnauthorized: false });
  const request = session.request({ ':method': 'M'.repeat(50_000), ':path': '/long-method' });
  const [answered] = await once(request.end(), 'response');
  expect(answered[':status']).toBe(405);
  session.close();
  await cluster.close();
  const lines = readFileSync(own, 'utf8').trimEnd().split('\n');
  const [event] = lines
    .map((line) => JSON.parse(line))
    .filter(({ requestURI }) => requestURI === '/long-method');
  expect(event.verb).toBe(`${'m'.repeat(1024)}...TRUNCATED`);
});

describe('the log', () => {
  it('is for its owner, counted, and whole when the cluster has closed', async () => {
    const own = path.join(folder, 'own.log');
    const cluster = await start({
      store: 'memory',
      controllers: false,
      auditLog: { file: own, fileBytesMax: 10_000, backupsMax: 1 },
    });
    for (let i = 0; i < 60; i++) await fetch(`${cluster.url}/version`);
    const metrics = parseMetrics(await (await fetch(`${cluster.url}/metrics`)).text());
    expect(metrics.find('apiserver_audit_event_total')).toHaveLength(1);
    expect(metrics.value('apiserver_audit_error_total', { plugin: 'log' })).toBe(0);
    await cluster.close();
    const names = readdirSync(folder).filter((name) => name.startsWith('own'));
    expect(names.length).toBeLessThanOrEqual(2);
    const last = readFileSync(own, 'utf8').trimEnd().split('\n').at(-1)!;
    expect(JSON.parse(last).requestURI).toBe('/metrics');
  });

  it('that cannot be written keeps a cluster from starting', async () => {
    const bad = start({ store: 'memory', auditLog: path.join(folder, 'none', 'x.log') });
    await expect(bad).rejects.toThrow(StartError);
    await expect(start({ store: 'memory', auditLog: folder })).rejects.toThrow(
      /cannot be written \(EISDIR\)/,
    );
  });
});
