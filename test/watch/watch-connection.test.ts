/**
 * Proves the connection of watches: many watches on one WebSocket, each an ordinary request with its own events, end and
 * refusal; bounds; messages that make no sense; clients that do not read; users of the secure door.
 */
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { start } from '../../src/cluster/index.ts';
import type { Json } from '../support/http.ts';
import { parseMetrics } from '../support/metrics.ts';
import { type Target, useTarget, webSocketHead } from '../support/target.ts';
import { WatchesClient } from '../support/watches-client.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const tableAccept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const watchPath = `${configMaps}?watch=true&resourceVersion=0`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect(...of: Parameters<typeof WatchesClient.open>): Promise<WatchesClient> {
  const client = await WatchesClient.open(...of);
  cleanups.push(() => client.close());
  return client;
}

const openWatches = async (target: Target): Promise<number> =>
  parseMetrics((await target.get('/metrics')).text).value('wherry_watches');

describe('a connection of watches', () => {
  const target = useTarget();
  const create = (name: string, data: object = {}) => target.post(configMaps, { metadata: { name }, data });
  const named = (id: string, name: string) => (message: Json) =>
    message.id === id && message.object?.metadata?.name === name;

  it('carries many watches, each with the bytes of its ordinary events', async () => {
    const client = await connect(target.url);
    const names = Array.from({ length: 40 }, (_, i) => `many-${i}`);
    for (const name of names)
      await client.watch(name, `${configMaps}?watch=true&fieldSelector=metadata.name%3D${name}`);
    expect(await openWatches(target)).toBe(40);
    const ordinary = new WebSocket(
      `${target.url.replace('http', 'ws')}${configMaps}?watch=true&resourceVersion=0`,
    );
    const lines: string[] = [];
    ordinary.on('message', (data) => lines.push(String(data)));
    cleanups.push(() => ordinary.terminate());
    await once(ordinary, 'open');
    for (const name of names) await create(name);
    for (const name of names) await client.next(named(name, name));
    await expect.poll(() => lines.length).toBe(names.length);
    for (const [i, name] of names.entries()) {
      expect(client.ofWatch(name).map(({ type }) => type)).toEqual(['STARTED', 'ADDED']);
      expect(client.texts.find((text) => text.startsWith(`{"id":"${name}","type":"ADDED"`))).toBe(
        `{"id":"${name}",${lines[i]!.slice(1)}`,
      );
    }
    client.close();
    ordinary.terminate();
    await expect.poll(() => openWatches(target)).toBe(0);
  });

  it('ends one watch, and goes on with the others', async () => {
    const client = await connect(target.url);
    await client.watch('a', watchPath);
    await client.watch('b', watchPath);
    client.send({ end: 'a' });
    await client.next(({ id, type }) => id === 'a' && type === 'ENDED');
    await create('after-the-end');
    await client.next(named('b', 'after-the-end'));
    expect(client.ofWatch('a').at(-1)).toEqual({ id: 'a', type: 'ENDED' });
    // One that has ended is no error, and its id is free again.
    client.send({ end: 'a' });
    await client.watch('a', watchPath);
    await client.next(named('a', 'after-the-end'));
    expect(client.messages.filter(({ type }) => type === 'ERROR')).toEqual([]);
    expect(await openWatches(target)).toBe(2);
  });

  it('ends a watch at its timeout', async () => {
    const client = await connect(target.url);
    await client.watch('short', `${configMaps}?watch=true&timeoutSeconds=1`);
    await client.next(({ id, type }) => id === 'short' && type === 'ENDED');
  });

  it('answers in the form that a watch accepts, except for protobuf', async () => {
    const client = await connect(target.url);
    await create('formed');
    await client.watch('table', watchPath, tableAccept);
    const { object } = await client.next(({ id, type }) => id === 'table' && type === 'ADDED');
    expect(object.kind).toBe('Table');
    const protobuf = 'application/vnd.kubernetes.protobuf';
    await client.watch('either', watchPath, `${protobuf},application/json`);
    await client.next(named('either', 'formed'));
    client.start('neither', watchPath, protobuf);
    const refused = await client.next(({ id }) => id === 'neither');
    expect(refused).toMatchObject({ type: 'REFUSED', object: { kind: 'Status', code: 406 } });
  });

  it.each([
    ['of a resource that is not served', '/api/v1/nopes?watch=true', 404],
    ['that is a list', configMaps, 400],
    ['of a page', '/healthz', 400],
    ['of a connection of watches', '/wherry/watches', 400],
    ['into a pod', '/api/v1/namespaces/default/pods/a/exec?command=sh', 400],
    ['with a bad selector', `${watchPath}&labelSelector=((`, 400],
    ['with a bad version', `${configMaps}?watch=true&resourceVersion=abc`, 422],
    ['with a malformed path', '/api/v1/%zz?watch=true', 400],
    ['without a path', undefined, 400],
    ['with a path that is none', 7, 400],
    ['with a path that would end the line of a request', '/api/v1/pods?watch=true HTTP/1.1\r\nX: y', 400],
    ['with a path without end', `/api/v1/pods?watch=true&x=${'x'.repeat(20_000)}`, 400],
    ['that accepts what is no header', watchPath, 400, 'a\r\nb'],
  ])('refuses one %s with its Status, and goes on', async (_, path, code, accept?) => {
    const client = await connect(target.url);
    client.send({ start: 'one', path, accept });
    const refused = await client.next(({ id }) => id === 'one');
    expect(refused).toEqual({
      id: 'one',
      type: 'REFUSED',
      object: expect.objectContaining({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code }),
    });
    await client.watch('one', watchPath);
    expect(target.failures).toEqual([]);
  });

  it.each([
    ['', /one JSON object/],
    ['nonsense', /one JSON object/],
    ['[]', /one JSON object/],
    ['null', /one JSON object/],
    ['{}', /either "start" or "end"/],
    ['{"start":"a","end":"a"}', /either "start" or "end"/],
    ['{"start":7,"path":"/api/v1/pods?watch=true"}', /the id of a watch is text/],
    ['{"start":"\\"},{","path":"/api/v1/pods?watch=true"}', /the id of a watch is text/],
    [`{"start":"${'x'.repeat(65)}","path":"/api/v1/pods?watch=true"}`, /the id of a watch is text/],
    ['{"end":"a","path":"/"}', /no other field/],
    ['{"start":"a","path":"/","method":"DELETE"}', /no field "method"/],
    ['{"start":"open","path":"/api/v1/pods?watch=true"}', /the watch open is open already/],
    [Buffer.from('{"end":"a"}'), /messages are text/],
  ])('says what is wrong with the message %j, and goes on', async (message, says) => {
    const client = await connect(target.url);
    await client.watch('open', watchPath);
    client.socket.send(message);
    const error = await client.next(({ type, id }) => type === 'ERROR' && id === undefined);
    expect(error.object).toMatchObject({ kind: 'Status', code: 400, message: expect.stringMatching(says) });
    await client.watch('next', watchPath);
    expect(target.failures).toEqual([]);
  });

  it('is closed after many invalid messages, and after one that is too large', async () => {
    const client = await connect(target.url);
    for (let i = 0; i < 20; i++) client.send('nonsense');
    expect(await client.closed).toEqual({ code: 1008, reason: 'too many invalid messages' });
    const other = await connect(target.url);
    other.send(JSON.stringify({ start: 'x'.repeat(40_000) }));
    expect((await other.closed).code).toBe(1009);
    await expect.poll(() => openWatches(target)).toBe(0);
    expect((await target.get('/healthz')).text).toBe('ok');
  });

  it('has 256 watches at most', async () => {
    const client = await connect(target.url);
    for (let i = 0; i < 256; i++) client.start(`w${i}`, `${configMaps}?watch=true&timeoutSeconds=600`);
    await client.next(({ id, type }) => id === 'w255' && type === 'STARTED');
    client.start('beyond', watchPath);
    const refused = await client.next(({ id }) => id === 'beyond');
    expect(refused.object).toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } });
    client.send({ end: 'w7' });
    await client.next(({ id, type }) => id === 'w7' && type === 'ENDED');
    await client.watch('beyond', watchPath);
  });

  it('needs a WebSocket, and its subprotocol if one is named', async () => {
    expect(await target.get('/wherry/watches')).toMatchObject({ status: 426, body: { kind: 'Status' } });
    const [other] = await target.exchange(webSocketHead('/wherry/watches', 'Sec-WebSocket-Protocol: other'));
    expect(other).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('v1.watches.wherry') },
    });
    const named = await connect(target.url, ['other', 'v1.watches.wherry']);
    expect(named.socket.protocol).toBe('v1.watches.wherry');
    const foreign = webSocketHead('/wherry/watches', 'Origin: http://evil.example');
    expect((await target.exchange(foreign))[0]).toMatchObject({ status: 403 });
  });
});

describe('a client of watches that does not read', () => {
  const target = useTarget({
    limits: { watcherBacklogBytesMax: 64 * 1024, watchersPerClientMax: 3 },
    history: { changesMax: 20 },
  });
  const change = (name: string, data: object) =>
    target.put(`${configMaps}/${name}`, { metadata: { name }, data });

  it('has little waiting for it, and its watches end with 410 when history has moved past them', async () => {
    await target.post(configMaps, { metadata: { name: 'big' } });
    await target.post('/api/v1/namespaces/default/secrets', { metadata: { name: 'quiet' } });
    const client = await connect(target.url);
    await client.watch('big', watchPath);
    await client.watch('quiet', '/api/v1/namespaces/default/secrets?watch=true&resourceVersion=0');
    client.socket.pause();
    const ballast = 'x'.repeat(1024 * 1024 - 1000);
    for (let i = 0; i < 40; i++) await change('big', { ballast, i: String(i) });
    await expect.poll(() => openWatches(target)).toBe(1);
    client.socket.resume();
    const error = await client.next(({ id, type }) => id === 'big' && type === 'ERROR');
    expect(error.object).toMatchObject({ kind: 'Status', code: 410 });
    await client.next(({ id, type }) => id === 'big' && type === 'ENDED');
    expect(client.ofWatch('big').length).toBeLessThan(30);
    // The connection and its other watch go on.
    await target.delete('/api/v1/namespaces/default/secrets/quiet');
    await client.next(({ id, type }) => id === 'quiet' && type === 'DELETED');
    await client.watch('again', `${watchPath}&timeoutSeconds=600`);
  });

  it('gets every event in order when it reads again in time', async () => {
    const client = await connect(target.url);
    await target.post(configMaps, { metadata: { name: 'steady' } });
    const select = '&fieldSelector=metadata.name%3Dsteady';
    await client.watch('one', watchPath + select);
    await client.watch('two', watchPath + select);
    client.socket.pause();
    const ballast = 'x'.repeat(500_000);
    for (let i = 0; i < 15; i++) await change('steady', { ballast, i: String(i) });
    client.socket.resume();
    for (const id of ['one', 'two']) {
      await client.next((message) => message.id === id && message.object?.data?.i === '14');
      const seen = client.ofWatch(id).flatMap(({ object }) => object?.data?.i ?? []);
      expect(seen).toEqual(Array.from({ length: 15 }, (_, i) => String(i)));
    }
  });

  it('is refused more watches than any client may have', async () => {
    await expect.poll(() => openWatches(target)).toBe(0);
    const client = await connect(target.url);
    for (const id of ['a', 'b', 'c']) await client.watch(id, watchPath);
    client.start('d', watchPath);
    const refused = await client.next(({ id }) => id === 'd');
    expect(refused.object).toMatchObject({
      code: 429,
      message: expect.stringContaining('this client has too many watches open'),
      details: { retryAfterSeconds: 1 },
    });
  });
});

describe('users of watches', () => {
  it('are those of the connection, and each watch is decided about by itself', async () => {
    const cluster = await start({ store: 'memory', controllers: false, secure: true });
    cleanups.push(() => cluster.close());
    const send = async (path: string, body: object): Promise<Json> =>
      (
        await fetch(cluster.url + path, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'Content-Type': 'application/json' },
        })
      ).json();
    await send('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'viewer' } });
    await send('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      metadata: { name: 'viewer' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
    });
    await send('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'viewer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
      subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace: 'default' }],
    });
    const { status } = await send('/api/v1/namespaces/default/serviceaccounts/viewer/token', { spec: {} });
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(status.token).toString('base64url')}`;
    const viewer = 'system:serviceaccount:default:viewer';
    const ways = [
      connect(cluster.secureUrl!, ['v1.watches.wherry', bearer], { rejectUnauthorized: false }),
      connect(cluster.secureUrl!, [], {
        rejectUnauthorized: false,
        headers: { Authorization: `Bearer ${status.token}` },
      }),
      // On the local door, which lets its own users do everything.
      connect(cluster.url, [], { headers: { 'Impersonate-User': viewer } }),
    ];
    for (const client of await Promise.all(ways)) {
      await client.watch('seen', watchPath);
      client.start('secrets', '/api/v1/namespaces/default/secrets?watch=true');
      client.start('everywhere', '/api/v1/configmaps?watch=true');
      for (const id of ['secrets', 'everywhere']) {
        const refused = await client.next((message) => message.id === id);
        expect(refused).toMatchObject({ type: 'REFUSED', object: { code: 403, reason: 'Forbidden' } });
        expect(refused.object.message).toContain(`User "${viewer}" cannot watch resource`);
      }
    }
    await send(configMaps, { metadata: { name: 'shown' } });
    for (const way of ways)
      await (await way).next(({ id, object }) => id === 'seen' && object?.metadata?.name === 'shown');
    // Users that are not known get no connection at all.
    const unknown = new WebSocket(`${cluster.secureUrl!.replace('http', 'ws')}/wherry/watches`, {
      rejectUnauthorized: false,
    });
    const [error] = await once(unknown, 'error');
    expect(String(error)).toMatch(/40[13]/);
    // The server closes: all watches end, then the connection.
    const [first] = await Promise.all(ways);
    const closing = cluster.close();
    expect((await first!.closed).code).toBe(1000);
    expect(first!.ofWatch('seen').at(-1)).toEqual({ id: 'seen', type: 'ENDED' });
    await closing;
  });
});
