/**
 * Proves that requests of every door take the same steps: a second door with its own users and authorizer runs beside
 * the local one, for plain requests, watches and upgrades, with synchronous and asynchronous decisions.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Client, type Headers, type Json } from '../../../test/support/http.ts';
import { parseMetrics } from '../../../test/support/metrics.ts';
import { head, parseReplies, readToEnd, webSocketHead } from '../../../test/support/target.ts';
import { LocalDoor } from '../doors/local-door.ts';
import { TokenDoor } from '../doors/token-door.fixture.ts';
import { type AuditLog, openAuditLog } from '../observe/audit-log.ts';
import { Proxied, useProxied } from '../pods/proxying.fixture.ts';

const pods = '/api/v1/namespaces/ns/pods';
const exec = `${pods}/p/exec?command=true`;
const bearer = 'base64url.bearer.authorization.k8s.io.';
const as = (token: string): Headers => ({ Authorization: `Bearer ${token}` });
const encoded = (token: string): string => Buffer.from(token).toString('base64url');

const unauthorized = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'Unauthorized',
  reason: 'Unauthorized',
  code: 401,
};

const forbidden = (message: string, details: object): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason: 'Forbidden',
  details,
  code: 403,
});

const cannot = (verb: string, resource = 'pods'): string =>
  `User "mallory" cannot ${verb} resource "${resource}" in API group "" in the namespace "ns": nobody allowed it`;

describe.each([
  ['at once', false],
  ['later', true],
])('a door that answers %s', (_when, waits) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-doors-'));
  const file = path.join(folder, 'audit.log');
  const door = new TokenDoor(waits);
  const client = new Client(() => door.url);
  let audit: AuditLog;
  beforeAll(async () => {
    audit = await openAuditLog(
      { file },
      () => 1_700_000_000_000,
      () => undefined,
    );
  });
  afterAll(async () => {
    await audit.close();
    rmSync(folder, { recursive: true });
  });
  const api = useProxied({}, () => ({
    doors: [new LocalDoor({ host: '127.0.0.1', port: 0 }), door],
    audit,
  }));
  /** The audit entries of requests with an id, once there are so many. */
  async function events(id: string, count: number): Promise<Json[]> {
    for (;;) {
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      const found = lines.map((line) => JSON.parse(line)).filter(({ auditID }) => auditID === id);
      if (found.length >= count) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The answer to a request on a raw socket. */
  async function answer(bytes: string) {
    const { hostname, port } = new URL(door.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.write(bytes);
    const replies = parseReplies(await readToEnd(socket));
    expect(replies).toHaveLength(1);
    return replies[0]!;
  }

  it('refuses plain requests of users it does not know', async () => {
    for (const headers of [{}, as('x'), as('')]) {
      expect((await client.get(pods, headers)).body).toEqual(unauthorized);
      expect((await client.post(pods, { metadata: { name: 'p' } }, headers)).body).toEqual(unauthorized);
      expect((await client.get('/version', headers)).body).toEqual(unauthorized);
    }
    const reply = await client.get(pods);
    expect(reply.status).toBe(401);
    expect(reply.headers).toMatchObject({ 'content-type': 'application/json' });
  });

  it('refuses watches of users it does not know', async () => {
    for (const url of [`${pods}?watch=true`, '/api/v1/watch/pods', `${pods}?w%61tch=1`]) {
      const reply = await client.get(url, as('x'));
      expect(reply.status).toBe(401);
      expect(reply.body).toEqual(unauthorized);
    }
  });

  it('refuses upgrades of users it does not know', async () => {
    for (const bytes of [
      webSocketHead(`${pods}?watch=true`),
      webSocketHead(exec, 'Authorization: Bearer x'),
      webSocketHead(exec, `Sec-WebSocket-Protocol: ${bearer}${encoded('x')}, v4.channel.k8s.io`),
      head(`POST ${exec}`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0'),
    ]) {
      const { status, body } = await answer(bytes);
      expect(status).toBe(401);
      expect(body).toEqual(unauthorized);
    }
  });

  it('refuses what its authorizer denies, before it says whether there is such a thing', async () => {
    const list = await client.get(pods, as('m'));
    expect(list.status).toBe(403);
    expect(list.body).toEqual(forbidden(`pods is forbidden: ${cannot('list')}`, { kind: 'pods' }));
    const one = await client.delete(`${pods}/none`, undefined, as('m'));
    expect(one.body).toEqual(
      forbidden(`pods "none" is forbidden: ${cannot('delete')}`, { name: 'none', kind: 'pods' }),
    );
    const nothing = await client.get('/apis/nobody.example/v1/nothings', as('m'));
    expect(nothing.body).toEqual(
      forbidden(
        'nothings.nobody.example is forbidden: User "mallory" cannot list resource "nothings" in API group "nobody.example" at the cluster scope: nobody allowed it',
        { group: 'nobody.example', kind: 'nothings' },
      ),
    );
    const page = await client.get('/metrics', as('m'));
    expect(page.body).toEqual(
      forbidden('forbidden: User "mallory" cannot get path "/metrics": nobody allowed it', {}),
    );
  });

  it('refuses watches and upgrades that its authorizer denies', async () => {
    const watch = await client.get(`${pods}?watch=true`, as('m'));
    expect(watch.status).toBe(403);
    expect(watch.body.message).toBe(`pods is forbidden: ${cannot('watch')}`);
    const socket = await answer(webSocketHead(`${pods}?watch=true`, 'Authorization: Bearer m'));
    expect(socket.status).toBe(403);
    expect(socket.body).toEqual(watch.body);
    const session = await answer(
      webSocketHead(exec, `Sec-WebSocket-Protocol: ${bearer}${encoded('m')}, v4.channel.k8s.io`),
    );
    expect(session.body).toEqual(
      forbidden(`pods "p" is forbidden: ${cannot('get', 'pods/exec')}`, { name: 'p', kind: 'pods' }),
    );
  });

  it('serves whom it knows and may, in all three ways', async () => {
    expect((await client.get(pods, as('a'))).body.kind).toBe('PodList');
    expect((await client.get('/api/v1/nopes', as('a'))).status).toBe(404);
    const watch = await client.watch(`${pods}?watch=true`, as('a'));
    await api.pod(`seen-${waits}`, undefined);
    expect((await watch.next()).object.metadata.name).toBe(`seen-${waits}`);
    watch.close();
    const protocols = [`${bearer}${encoded('a')}`, 'v4.channel.k8s.io'];
    const socket = new WebSocket(`${door.url.replace('http', 'ws')}${pods}?watch=true`, protocols);
    const [message] = await once(socket, 'message');
    expect(JSON.parse(String(message)).object.metadata.name).toBe(`seen-${waits}`);
    socket.close();
    await once(socket, 'close');
  });

  it('asks its authorizer about what the URL says', async () => {
    door.asked.length = 0;
    await client.get(`${pods}?watch=true`, as('m'));
    await client.post(`${pods}/p/eviction`, {}, as('m'));
    await client.request('DELETE', '/apis/apps/v1/namespaces/ns/deployments', undefined, as('m'));
    await client.get('/api/v1/proxy/nodes/n/x', as('m'));
    await client.get('/healthz', as('m'));
    expect(door.asked).toEqual([
      'mallory watch /pods/',
      'mallory create /pods/eviction',
      'mallory deletecollection apps/deployments/',
      'mallory proxy /nodes/proxy',
      'mallory get /healthz',
    ]);
  });

  it('tells users who they are, with everything that is known of them', async () => {
    const review = await client.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, as('a'));
    expect(review.body.status.userInfo).toEqual({
      username: 'alice',
      uid: 'u-1',
      groups: ['admins', 'system:authenticated'],
      extra: { 'example.com/team': ['red', 'blue'] },
    });
  });

  it('has users and decisions written down', async () => {
    await client.get(pods, { ...as('a'), 'Audit-Id': 'of-alice' });
    const [served] = await events('of-alice', 1);
    expect(served.user).toEqual({
      username: 'alice',
      uid: 'u-1',
      groups: ['admins', 'system:authenticated'],
      extra: { 'example.com/team': ['red', 'blue'] },
    });
    expect(served.annotations['authorization.k8s.io/decision']).toBe('allow');
    await answer(webSocketHead(exec, 'Authorization: Bearer m', 'Audit-Id: of-mallory'));
    const [refused, ...more] = await events('of-mallory', 1);
    expect(more).toEqual([]);
    expect(refused).toMatchObject({
      user: { username: 'mallory' },
      responseStatus: { code: 403, reason: 'Forbidden' },
      annotations: {
        'authorization.k8s.io/decision': 'forbid',
        'authorization.k8s.io/reason': 'nobody allowed it',
      },
    });
    await client.get(`${pods}?watch=1`, { 'Audit-Id': 'of-nobody' });
    const [unknown] = await events('of-nobody', 1);
    expect(unknown).toMatchObject({ verb: 'watch', user: {}, responseStatus: { code: 401 } });
    expect(unknown.user).toEqual({});
    expect(unknown.annotations).toBeUndefined();
  });

  it('leaves none of the refused among the requests under way', async () => {
    for (const token of ['x', 'm']) {
      await client.get(`${pods}?watch=true`, as(token));
      await answer(webSocketHead(exec, `Authorization: Bearer ${token}`));
    }
    const metrics = parseMetrics((await api.get('/metrics')).text);
    expect(metrics.value('wherry_connections')).toBe(0);
    expect(metrics.value('wherry_watches')).toBe(0);
    expect(metrics.value('apiserver_longrunning_requests')).toBe(0);
    const labels = { verb: 'WATCH', resource: 'pods', code: '401' };
    expect(metrics.value('apiserver_request_total', labels)).toBeGreaterThan(0);
  });

  it('may say who comes in at all, whoever it is', async () => {
    const page = await client.get(pods, { ...as('a'), Origin: 'http://localhost' });
    expect(page.body).toMatchObject({ code: 403, message: 'no pages here' });
    expect((await answer(webSocketHead(exec, 'Origin: http://localhost'))).body.message).toBe(
      'no pages here',
    );
  });

  it('that fails itself fails one request', async () => {
    const before = api.failures.length;
    expect((await client.get(pods, as('broken'))).status).toBe(500);
    expect((await answer(webSocketHead(exec, 'Authorization: Bearer broken'))).status).toBe(503);
    const told = api.failures.splice(before).map(({ message }) => message);
    expect(told).toEqual(['the list of users is lost', 'the list of users is lost']);
    expect((await client.get(pods, as('a'))).status).toBe(200);
  });

  it('changes nothing at the local door of the same server', async () => {
    expect((await api.get(pods)).status).toBe(200);
    const review = await api.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
    expect(review.body.status.userInfo).toEqual({
      username: 'system:unsecured',
      groups: ['system:masters', 'system:authenticated'],
    });
  });
});

describe('several doors', () => {
  it('are closed together, with what is open behind each', async () => {
    const doors = [new TokenDoor(false), new TokenDoor(true)];
    const api = new Proxied({}, () => ({ doors }));
    await api.start();
    const watches = await Promise.all(
      doors.map((door) => new Client(door.url).watch('/api/v1/pods?watch=true', as('a'))),
    );
    const urls = doors.map(({ url }) => url);
    await api.stop();
    await Promise.all(watches.map(({ ended }) => ended));
    for (const url of urls) await expect(fetch(`${url}/version`)).rejects.toThrow('fetch failed');
  });
});
