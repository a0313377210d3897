/** Quotas: exact under concurrent writes, and failed writes are not counted. */
import { describe, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';

const api = useCluster();

async function namespaceWithQuota(
  name: string,
  hard: Record<string, string>,
  more: Json = {},
): Promise<string> {
  await api.post('/api/v1/namespaces', { metadata: { name } });
  const quotas = `/api/v1/namespaces/${name}/resourcequotas`;
  const watch = await api.watch(`${quotas}?watch=true`);
  const reply = await api.post(quotas, { metadata: { name: 'q' }, spec: { hard, ...more } });
  expect(reply.status, reply.text).toBe(200);
  await watch.until(({ object }) => object.status.hard !== undefined);
  watch.close();
  return `/api/v1/namespaces/${name}`;
}

/** Waits until the quota has this usage. */
async function used(base: string, wanted: Record<string, string>): Promise<void> {
  const watch = await api.watch(`${base}/resourcequotas?watch=true&resourceVersion=0`);
  await watch.until(({ object }) =>
    Object.entries(wanted).every(([name, value]) => object.status.used?.[name] === value),
  );
  watch.close();
}

const pod = (name: string, requests?: Json) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i:1', resources: { requests } }] },
});

describe('a quota', () => {
  test('lets exactly as many through as it says, of 200 that come at once', async () => {
    const base = await namespaceWithQuota('crowd', { pods: '37', configmaps: '20' });
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) => api.post(`${base}/pods`, pod(`p${i}`))),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(37);
    const refused = replies.filter((reply) => reply.status === 403);
    expect(refused).toHaveLength(163);
    expect(refused[0]!.body.message).toMatch(
      /^pods "p\d+" is forbidden: exceeded quota: q, requested: pods=1, used: pods=37, limited: pods=37$/,
    );
    expect((await api.get(`${base}/pods`)).body.items).toHaveLength(37);
    await used(base, { pods: '37' });
  });

  test('counts down when objects go, and gives their place to others', async () => {
    const base = '/api/v1/namespaces/crowd';
    await api.delete(`${base}/pods`);
    await used(base, { pods: '0' });
    const again = await Promise.all(
      Array.from({ length: 60 }, (_, i) => api.post(`${base}/pods`, pod(`r${i}`))),
    );
    expect(again.filter((reply) => reply.status === 200)).toHaveLength(37);
    await used(base, { pods: '37' });
  });

  test('forgets what was admitted and then failed to be stored', async () => {
    const base = await namespaceWithQuota('failed', { configmaps: '5' });
    const map = { metadata: { name: 'same' } };
    const replies = await Promise.all(Array.from({ length: 5 }, () => api.post(`${base}/configmaps`, map)));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409, 409, 409]);
    await used(base, { configmaps: '1' });
  });

  test('holds while objects come and go at once', async () => {
    const base = await namespaceWithQuota('churn', { configmaps: '10' });
    let highest = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        for (let i = 0; i < 10; i++) {
          const created = await api.post(`${base}/configmaps`, { metadata: { name: `m${worker}-${i}` } });
          highest = Math.max(highest, (await api.get(`${base}/configmaps`)).body.items.length);
          if (created.status === 200) await api.delete(`${base}/configmaps/m${worker}-${i}`);
        }
      }),
    );
    expect(highest).toBeLessThanOrEqual(10);
    expect(highest).toBeGreaterThan(0);
    await used(base, { configmaps: '0' });
  });

  test('adds up what containers ask for, and asks that they say it', async () => {
    const base = await namespaceWithQuota('sums', { 'requests.cpu': '1', memory: '1Gi' });
    const silent = await api.post(`${base}/pods`, pod('silent'));
    expect(silent.body.message).toBe(
      'pods "silent" is forbidden: failed quota: q: must specify memory for: c; requests.cpu for: c',
    );
    expect((await api.post(`${base}/pods`, pod('a', { cpu: '600m', memory: '256Mi' }))).status).toBe(200);
    const second = await api.post(`${base}/pods`, pod('b', { cpu: '500m', memory: '256Mi' }));
    expect(second.body.message).toBe(
      'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    expect((await api.post(`${base}/pods`, pod('b', { cpu: '400m', memory: '256Mi' }))).status).toBe(200);
    await used(base, { 'requests.cpu': '1', memory: '512Mi' });
  });

  test('with scopes counts only the pods they name', async () => {
    const base = await namespaceWithQuota('scoped', { pods: '1' }, { scopes: ['BestEffort'] });
    expect((await api.post(`${base}/pods`, pod('besteffort'))).status).toBe(200);
    expect((await api.post(`${base}/pods`, pod('another'))).status).toBe(403);
    expect((await api.post(`${base}/pods`, pod('burstable', { cpu: '1' }))).status).toBe(200);
  });

  test('counts nothing for a dry run', async () => {
    const base = await namespaceWithQuota('dry', { configmaps: '1' });
    expect((await api.post(`${base}/configmaps?dryRun=All`, { metadata: { name: 'a' } })).status).toBe(200);
    expect((await api.post(`${base}/configmaps`, { metadata: { name: 'a' } })).status).toBe(200);
    expect((await api.post(`${base}/configmaps?dryRun=All`, { metadata: { name: 'b' } })).status).toBe(403);
  });

  test('counts any kind by count/', async () => {
    const base = await namespaceWithQuota('counted', { 'count/secrets': '1', 'count/jobs.batch': '0' });
    expect((await api.post(`${base}/secrets`, { metadata: { name: 'a' } })).status).toBe(200);
    expect((await api.post(`${base}/secrets`, { metadata: { name: 'b' } })).status).toBe(403);
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] },
    };
    const job = await api.post('/apis/extensions/v1beta1/namespaces/counted/jobs', {
      metadata: { name: 'j' },
      spec: { template },
    });
    expect(job.body.message).toContain('exceeded quota: q, requested: count/jobs.batch=1');
  });
});

describe('without controllers', () => {
  const alone = useCluster({ controllers: false });

  test('a quota that nobody has counted yet restricts nothing', async () => {
    const base = '/api/v1/namespaces/default';
    await alone.post(`${base}/resourcequotas`, {
      metadata: { name: 'q' },
      spec: { hard: { configmaps: '0' } },
    });
    expect((await alone.post(`${base}/configmaps`, { metadata: { name: 'a' } })).status).toBe(200);
  });
});
