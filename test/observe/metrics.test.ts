/** Proves that `/metrics` can be scraped, with the metric names that dashboards for kube-apiserver use. */
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { mergePatch } from '../support/http.ts';
import { type Metrics, parseMetrics } from '../support/metrics.ts';
import { head, useTarget } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const target = useTarget();

async function scrape(): Promise<Metrics> {
  const reply = await target.get('/metrics');
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parseMetrics(reply.text);
}

/** By how much a figure grows during some work. */
async function growth(
  act: () => Promise<unknown>,
  name: string,
  labels: Record<string, string>,
): Promise<number> {
  const before = (await scrape()).value(name, labels);
  await act();
  return (await scrape()).value(name, labels) - before;
}

const object = `${configMaps}/a`;
const patch = { 'Content-Type': mergePatch };

describe('requests', () => {
  it.each([
    ['POST', 'resource', 'create', () => target.post(configMaps, { metadata: { name: 'a' } })],
    ['GET', 'resource', 'get', () => target.get(object)],
    ['PUT', 'resource', 'update', () => target.put(object, { metadata: { name: 'a' } })],
    ['PATCH', 'resource', 'patch', () => target.request('PATCH', object, {}, patch)],
    ['LIST', 'namespace', 'list', () => target.get(configMaps)],
    ['LIST', 'cluster', 'list of all', () => target.get('/api/v1/configmaps?limit=1')],
    ['DELETE', 'resource', 'delete', () => target.delete(object)],
    ['DELETECOLLECTION', 'namespace', 'deletecollection', () => target.delete(configMaps)],
  ])('are counted and timed: %s %s (%s)', async (verb, scope, _, act) => {
    // Proves that each verb has its series, by resource, scope and code, and that its duration is measured.
    const labels = { verb, scope, group: '', version: 'v1', resource: 'configmaps', subresource: '' };
    expect(await growth(act, 'apiserver_request_total', { ...labels, code: '200' })).toBe(1);
    const metrics = await scrape();
    const count = metrics.value('apiserver_request_duration_seconds_count', labels);
    expect(count).toBe(metrics.value('apiserver_request_total', labels));
    expect(metrics.value('apiserver_request_duration_seconds_bucket', { ...labels, le: '+Inf' })).toBe(count);
    expect(metrics.value('apiserver_request_duration_seconds_sum', labels)).toBeGreaterThan(0);
  });

  it('are told apart by group, subresource and code', async () => {
    const scale = '/apis/extensions/v1beta1/namespaces/default/replicationcontrollers/none/scale';
    const labels = {
      group: 'extensions',
      version: 'v1beta1',
      subresource: 'scale',
      verb: 'GET',
      code: '404',
    };
    expect(await growth(() => target.get(scale), 'apiserver_request_total', labels)).toBe(1);
    const log = { resource: 'pods', subresource: 'log', verb: 'GET', code: '404' };
    const ask = () => target.get('/api/v1/namespaces/default/pods/none/log');
    expect(await growth(ask, 'apiserver_request_total', log)).toBe(1);
    const exec = { resource: 'pods', subresource: 'exec', verb: 'CONNECT', code: '404' };
    const connect = () =>
      target.post('/api/v1/namespaces/default/pods/none/exec?command=a&stdout=1', undefined);
    expect(await growth(connect, 'apiserver_request_total', exec)).toBe(1);
  });

  it('for pages have them named', async () => {
    const labels = { resource: '', subresource: '/healthz', verb: 'GET', code: '200' };
    expect(await growth(() => target.get('/healthz'), 'apiserver_request_total', labels)).toBe(1);
  });

  it('that were given up by their client are counted too', async () => {
    // Proves that a request whose client disconnected is counted, and not as a success.
    const aborted = async (): Promise<void> => {
      const sent = request(`${target.url}${configMaps}?resourceVersion=1000000`, { agent: false });
      sent.on('error', () => undefined).end();
      await once(sent, 'finish');
      await target.get('/healthz');
      sent.destroy();
      await target.get(`${configMaps}?resourceVersion=1000000`);
    };
    const labels = { verb: 'LIST', resource: 'configmaps', code: '504' };
    expect(await growth(aborted, 'apiserver_request_total', labels)).toBe(2);
  });
});

describe('hostile requests', () => {
  it('make no series of their own', async () => {
    // Proves that clients cannot create unbounded series with made-up names.
    const before = (await scrape()).all.length;
    for (let i = 0; i < 50; i++) {
      await target.get(`/api/v1/namespaces/default/x${i}`);
      await target.get(`/api/v1/namespaces/default/pods/p/y${i}`);
      await target.get(`/apis/g${i}/v1/things`);
      await target.get(`/page${i}`);
    }
    for (const path of [
      '/api/v1/a%22%7D%201%0Aevil_total',
      '/%22%0A',
      '/api/v1/%5C',
      '/api/v1/__proto__',
      '/toString',
    ])
      await target.get(path);
    for (const method of ['PROPFIND', 'M-SEARCH', 'LOCK', 'PURGE', 'OPTIONS'])
      await target.request(method, '/x');
    await target.exchange(head('GET /healthz', 'Expect: a-miracle', 'Connection: close'));
    const metrics = await scrape();
    // One series for each of a few verbs and codes: two dozen buckets, a sum and some counts.
    expect(metrics.all.length - before).toBeLessThan(150);
    expect(metrics.all.filter(({ name }) => name.startsWith('evil'))).toEqual([]);
    expect(metrics.value('apiserver_request_total', { resource: '', code: '404' })).toBeGreaterThan(200);
    expect(metrics.find('apiserver_request_total', { verb: 'other' }).length).toBeGreaterThan(0);
  });
});

describe('figures', () => {
  it('tell of the store', async () => {
    // Proves the metrics for objects, size, and the duration of writes.
    const labels = { operation: 'create', resource: 'secrets', group: '' };
    const create = () =>
      target.post('/api/v1/namespaces/default/secrets', { metadata: { name: 's' }, data: { a: 'AAAA' } });
    expect(await growth(create, 'etcd_request_duration_seconds_count', labels)).toBe(1);
    const metrics = await scrape();
    expect(metrics.value('etcd_requests_total', labels)).toBe(1);
    expect(metrics.value('apiserver_storage_objects', { resource: 'secrets' })).toBe(1);
    expect(metrics.value('apiserver_resource_objects', { group: '', resource: 'namespaces' })).toBe(4);
    expect(metrics.value('apiserver_storage_size_bytes')).toBeGreaterThan(500);
    const bigger = () =>
      target.post(configMaps, { metadata: { name: 'big' }, data: { a: 'x'.repeat(10_000) } });
    expect(await growth(bigger, 'apiserver_storage_size_bytes', {})).toBeGreaterThan(10_000);
    const version = (await target.get(configMaps)).body.metadata.resourceVersion;
    expect((await scrape()).value('wherry_store_revision')).toBe(Number(version));
  });

  it('tell of watches', async () => {
    const watch = await target.watch(
      `${configMaps}?watch=true&resourceVersion=0&fieldSelector=metadata.name=w`,
    );
    const labels = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' };
    const change = async (): Promise<void> => {
      await target.post(configMaps, { metadata: { name: 'w' } });
      await target.delete(`${configMaps}/w`);
      await watch.take(2);
    };
    expect(await growth(change, 'apiserver_watch_events_total', labels)).toBe(2);
    const open = { verb: 'WATCH', resource: 'configmaps', scope: 'namespace' };
    expect((await scrape()).value('apiserver_longrunning_requests', open)).toBe(1);
    watch.close();
  });

  it('tell of the process and its event loop', async () => {
    await scrape();
    // The event loop delay is sampled: it is 0 until the first sample.
    let metrics = await scrape();
    await vi.waitFor(
      async () => {
        metrics = await scrape();
        expect(metrics.value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 50 },
    );
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'nodejs_heap_size_used_bytes',
      'nodejs_eventloop_lag_seconds',
      'nodejs_eventloop_lag_mean_seconds',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(metrics.value(name), name).toBeGreaterThan(0);
    expect(Math.abs(metrics.value('process_start_time_seconds') - Date.now() / 1000)).toBeLessThan(3600);
  });

  it('are answered to HEAD without them, and to nothing else', async () => {
    expect(await target.request('HEAD', '/metrics')).toMatchObject({ status: 200, text: '' });
    expect((await target.post('/metrics', {})).status).toBe(404);
    expect((await target.get('/')).body.paths).toContain('/metrics');
  });
});
