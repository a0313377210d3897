/** Proves every limit: what is refused and how, the metric, and that there is room again afterwards. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { StartError, start } from '../../src/cluster/index.ts';
import { Kubectl } from '../kubectl/kubectl.ts';
import { kubectls } from '../kubectl/programs.ts';
import { Client, type Reply, type WatchReader } from '../support/http.ts';
import { type Metrics, parseMetrics } from '../support/metrics.ts';
import { head, type Target, useTarget, webSocketHead } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const watchPath = `${configMaps}?watch=true&resourceVersion=0`;
/** A list that waits some seconds for a version that does not exist yet. */
const waiting = `${configMaps}?resourceVersion=1000000`;
/** Together more than the buffers of a connection hold. */
const large = { count: 20, bytes: 900_000 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const metricsOf = async (target: Client): Promise<Metrics> =>
  parseMetrics((await target.get('/metrics')).text);

const reached = async (target: Client, limit: string): Promise<number> =>
  (await metricsOf(target)).value('wherry_limit_reached_total', { limit });

/** Polls metrics until they are as expected: the server notices a client's disconnection with a delay. */
async function settle(
  target: Client,
  name: string,
  labels: Record<string, string>,
  value: number,
): Promise<void> {
  await expect.poll(async () => (await metricsOf(target)).value(name, labels), { interval: 10 }).toBe(value);
}

/** A read that is under way until it is destroyed: a list whose client does not read. */
async function unread(target: Target): Promise<IncomingMessage> {
  const sent = request(`${target.url}/api/v1/namespaces/large/configmaps`, { agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.pause().on('error', () => undefined);
  cleanups.push(() => response.destroy());
  return response;
}

/** A request whose body is not sent yet. */
async function unfinished(target: Target): Promise<ClientRequest> {
  const sent = request(`${target.url}${configMaps}`, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Length': '1000' },
  });
  sent.on('error', () => undefined);
  sent.write('{"metadata":{"name":"');
  cleanups.push(() => sent.destroy());
  await once(sent, 'socket');
  return sent;
}

function expectOverload(reply: Reply): void {
  expect(reply).toMatchObject({
    status: 429,
    text: 'Too many requests, please try again later.\n',
    headers: {
      'retry-after': '1',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
  });
}

function expectTooMany(reply: Reply, message: string): void {
  expect(reply.status).toBe(429);
  expect(reply.headers['retry-after']).toBe('1');
  expect(reply.body).toMatchObject({
    kind: 'Status',
    reason: 'TooManyRequests',
    message,
    details: { retryAfterSeconds: 1 },
  });
}

describe('requests under way', () => {
  const target = useTarget({ limits: { readsInFlightMax: 2, writesInFlightMax: 2 } });
  const inFlight = 'apiserver_current_inflight_requests';
  beforeAll(async () => {
    await target.post('/api/v1/namespaces', { metadata: { name: 'large' } });
    for (let i = 0; i < large.count; i++)
      await target.post('/api/v1/namespaces/large/configmaps', {
        metadata: { name: `c-${i}` },
        data: { ballast: 'x'.repeat(large.bytes) },
      });
  });

  it('that write are bounded by themselves', async () => {
    // Proves 429 for the third write, that reads continue, and that there is room again when one has ended.
    const first = await unfinished(target);
    await unfinished(target);
    await settle(target, inFlight, { request_kind: 'mutating' }, 2);
    expectOverload(await target.post(configMaps, { metadata: { name: 'third' } }));
    expectOverload(await target.delete(`${configMaps}/none`));
    expect((await target.get(configMaps)).status).toBe(200);
    expect(await reached(target, 'max-mutating-requests-inflight')).toBe(2);
    first.destroy();
    await settle(target, inFlight, { request_kind: 'mutating' }, 1);
    expect((await target.post(configMaps, { metadata: { name: 'third' } })).status).toBe(200);
  });

  it('that read are bounded by themselves, but for those that look after the server', async () => {
    // Proves 429 for the third read, that writes, watches, health and metrics are still accepted, and room
    // afterwards.
    const slow = [await unread(target), await unread(target)];
    await settle(target, inFlight, { request_kind: 'readOnly' }, 2);
    expectOverload(await target.get(configMaps));
    expectOverload(await target.get('/version'));
    for (const path of ['/healthz', '/livez', '/readyz'])
      expect((await target.get(path)).status).not.toBe(429);
    expect((await target.post(configMaps, { metadata: { name: 'other' } })).status).toBe(200);
    const watch = await target.watch(watchPath);
    expect((await watch.next()).type).toBe('ADDED');
    watch.close();
    for (const response of slow) response.destroy();
    // The request for this figure counts, too.
    await settle(target, inFlight, { request_kind: 'readOnly' }, 1);
    expect((await target.get(configMaps)).status).toBe(200);
    expect((await target.get(waiting)).status).toBe(504);
    expect((await metricsOf(target)).value('apiserver_request_total', { verb: 'LIST', code: '429' })).toBe(1);
  });

  it.skipIf(kubectls.length === 0)('of kubectl are tried again by themselves', async () => {
    // Proves that the real client handles the refusal: it waits and retries.
    for (const own of kubectls) {
      const kubectl = new Kubectl(target.cluster!, own);
      await kubectl.run('get', 'configmaps');
      const before = await reached(target, 'max-requests-inflight');
      const slow = [await unread(target), await unread(target)];
      await settle(target, inFlight, { request_kind: 'readOnly' }, 2);
      const listed = kubectl.run('get', 'configmaps');
      await expect.poll(() => reached(target, 'max-requests-inflight')).toBeGreaterThan(before);
      for (const response of slow) response.destroy();
      expect(await listed).toContain('other');
      await settle(target, inFlight, { request_kind: 'readOnly' }, 1);
      kubectl.close();
    }
  });

  it('of one connection are carried out one after the other', async () => {
    // Proves that pipelined requests are counted against the limit, and are not refused because of pipelining.
    const requests = head(`GET ${configMaps}?limit=1`).repeat(20);
    const replies = await target.exchange(requests + head('GET /healthz', 'Connection: close'));
    expect(replies.map(({ status }) => status)).toEqual(Array(21).fill(200));
  });
});

describe('requests', () => {
  const target = useTarget({ limits: { headerBytesMax: 4096, bodyBytesMax: 1000 } });
  const hasty = useTarget({ limits: { bodyTimeoutMs: 1_000, requestTimeoutMs: 1_500 } });

  it('have a bound on their header', async () => {
    await target.refusesBytes(head('GET /healthz', `X: ${'a'.repeat(5000)}`), 431, /larger than 4096 bytes/);
    expect((await target.get('/healthz', { X: 'a'.repeat(3000) })).status).toBe(200);
    expect(await reached(target, 'max-header-bytes')).toBe(1);
  });

  it('have a bound on their body, announced or not', async () => {
    const says = /Request entity too large: limit is 1000/;
    await target.refuses(() => target.post(configMaps, 'x'.repeat(1001)), 413, says);
    const chunked = `${head(`POST ${configMaps}`, 'Transfer-Encoding: chunked', 'Connection: close')}7d0\r\n${'x'.repeat(2000)}\r\n0\r\n\r\n`;
    await target.refusesBytes(chunked, 413, says);
    expect(await reached(target, 'max-body-bytes')).toBe(2);
  });

  it('have a bound on the time their body takes', async () => {
    await hasty.refusesBytes(
      `${head(`POST ${configMaps}`, 'Content-Length: 100')}{`,
      504,
      /allotted timeout/,
    );
    expect(await reached(hasty, 'body-timeout')).toBe(1);
  });

  it('have a bound on the time they take', async () => {
    // Proves that waiting for a version, which may take three seconds and then has another answer, ends at the
    // request's timeout.
    await hasty.refuses(() => hasty.get(waiting), 504, /allotted timeout/);
    expect(await reached(hasty, 'request-timeout')).toBe(1);
    const limit = async (of: Target, name: string) =>
      (await metricsOf(of)).value('wherry_limit', { limit: name });
    expect(await limit(hasty, 'request-timeout')).toBe(1.5);
    expect(await limit(target, 'max-body-bytes')).toBe(1000);
  });
});

/** Sends a request from another address of this machine. */
function getFrom(target: Target, localAddress: string, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(`${target.url}${path}`, { agent: false, localAddress });
    cleanups.push(() => sent.destroy());
    sent.on('response', (response) => resolve(response.on('error', () => undefined))).on('error', reject);
    sent.end();
  });
}

describe('watches', () => {
  const target = useTarget({ limits: { watchersMax: 3, watchersPerClientMax: 2 } });
  const watches = async (count: number): Promise<WatchReader[]> => {
    const opened: WatchReader[] = [];
    for (let i = 0; i < count; i++) opened.push(await target.watch(watchPath));
    cleanups.push(() => opened.map((watch) => watch.close()));
    return opened;
  };

  it('have a bound for each client and one in all', async () => {
    // Proves both limits: two per address, three in total, and room again when one is closed.
    const [first] = await watches(2);
    const own = 'this client has too many watches open, please try again later';
    expectTooMany(await target.get(watchPath), own);
    expectTooMany(await target.get('/api/v1/watch/pods'), own);
    expect((await getFrom(target, '127.0.0.2', watchPath)).statusCode).toBe(200);
    expect((await getFrom(target, '127.0.0.3', watchPath)).statusCode).toBe(429);
    const metrics = await metricsOf(target);
    expect(metrics.value('wherry_watches')).toBe(3);
    expect(metrics.value('apiserver_longrunning_requests', { verb: 'WATCH', resource: 'configmaps' })).toBe(
      3,
    );
    expect(metrics.value('wherry_limit_reached_total', { limit: 'max-watches-per-client' })).toBe(2);
    expect(metrics.value('wherry_limit_reached_total', { limit: 'max-watches' })).toBe(1);
    first!.close();
    await settle(target, 'wherry_watches', {}, 2);
    await watches(1);
  });

  it('over WebSockets count like the others', async () => {
    // Proves that WebSocket watches are counted while open, refused beyond the limit, and no longer counted
    // when closed.
    await settle(target, 'wherry_watches', {}, 0);
    const url = `${target.url.replace('http', 'ws')}${watchPath}`;
    const sockets = [new WebSocket(url), new WebSocket(url)];
    await Promise.all(sockets.map((socket) => once(socket, 'open')));
    await settle(target, 'wherry_watches', {}, 2);
    const [reply] = await target.exchange(webSocketHead(watchPath));
    expect(reply).toMatchObject({ status: 429, body: { reason: 'TooManyRequests' } });
    expect(reply!.headers.get('retry-after')).toBe('1');
    for (const socket of sockets) socket.close();
    await settle(target, 'wherry_watches', {}, 0);
    // A failed handshake is not counted.
    const [bad] = await target.exchange(
      head(`GET ${watchPath}`, 'Connection: Upgrade', 'Upgrade: websocket'),
    );
    expect(bad!.status).toBe(400);
    await settle(target, 'wherry_watches', {}, 0);
    const metrics = await metricsOf(target);
    expect(metrics.value('apiserver_request_total', { verb: 'WATCH', code: '101' })).toBe(2);
    expect(metrics.value('apiserver_longrunning_requests')).toBe(0);
  });
});

describe('a watcher that does not read', () => {
  const target = useTarget({
    limits: { watcherBacklogBytesMax: 64 * 1024, requestTimeoutMs: 3_000 },
    history: { changesMax: 20 },
  });

  it('has little waiting for it, and is let go of when history has moved past it', async () => {
    // Proves the bound on a watcher's buffer: 40 MB of changes happen, and almost nothing is buffered for it.
    const response = await new Promise<IncomingMessage>((resolve) =>
      request(`${target.url}${watchPath}`, { agent: false }, resolve).end(),
    );
    response.pause().on('error', () => undefined);
    cleanups.push(() => response.destroy());
    const ballast = 'x'.repeat(1024 * 1024 - 1000);
    await target.post(configMaps, { metadata: { name: 'big' }, data: { ballast } });
    for (let i = 0; i < 40; i++)
      await target.put(`${configMaps}/big`, { metadata: { name: 'big' }, data: { ballast, i: String(i) } });
    await settle(target, 'apiserver_terminated_watchers_total', { resource: 'configmaps' }, 1);
    await settle(target, 'wherry_watches', {}, 0);
    const metrics = await metricsOf(target);
    expect(metrics.value('wherry_limit_reached_total', { limit: 'max-watch-backlog-bytes' })).toBeGreaterThan(
      0,
    );
    expect(metrics.value('apiserver_watch_events_total', { resource: 'configmaps' })).toBeLessThan(30);
  });
});

describe('figures to be warned from', () => {
  it('are told of once, with the number, and counted', async () => {
    // Proves the warnings about objects and bytes; every new cluster already has some of both.
    const warnings: string[] = [];
    const cluster = await start({
      store: 'memory',
      controllers: false,
      limits: { objectsWarned: 4, bytesWarned: 100 },
      onWarning: (message) => void warnings.push(message),
    });
    cleanups.push(() => cluster.close());
    expect(warnings).toEqual([
      expect.stringMatching(/^there are \d objects; .* from 4 on \(--warn-objects\)$/),
      expect.stringMatching(/^the store has \d+ bytes; .* from 100 on \(--warn-bytes\)$/),
    ]);
    const client = new Client(cluster.url);
    expect(await reached(client, 'warn-objects')).toBe(1);
    expect(await reached(client, 'warn-bytes')).toBe(1);
  });
});

describe('limits that make no sense', () => {
  it('are refused at the start', async () => {
    await expect(start({ store: 'memory', limits: { watchersMax: 0 } })).rejects.toThrow(StartError);
  });
});
