/** Proves that `--trace-requests` shows where requests spend their time, to those it concerns, and nothing without it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { useTarget } from '../support/target.ts';

const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-traces-'));
const configMaps = '/api/v1/namespaces/default/configmaps';
const untraced = useTarget();
let cluster: Cluster;

beforeAll(async () => {
  cluster = await start({ dataDir, port: 0, controllers: false, secure: { port: 0 }, traceRequests: true });
});
afterAll(async () => {
  await cluster?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const send = (method: string, where: string, body?: object, type = 'application/json') =>
  fetch(`${cluster.url}${where}`, {
    method,
    headers: body ? { 'Content-Type': type } : {},
    body: body ? JSON.stringify(body) : null,
  });

/** Milliseconds by phase, as a browser reads them. */
const phasesOf = (answer: Response): Record<string, number> =>
  Object.fromEntries(
    (answer.headers.get('server-timing') ?? '').split(', ').map((one) => {
      const [, phase, ms] = /^(\w+);dur=(\d+\.\d+)$/.exec(one)!;
      return [phase!, Number(ms)];
    }),
  );

it('tells the phases of each write at the local door', async () => {
  const writes = [
    () => send('POST', configMaps, { metadata: { name: 'a' }, data: { n: '1' } }),
    () => send('PATCH', `${configMaps}/a`, { data: { n: '2' } }, 'application/merge-patch+json'),
    () => send('PUT', `${configMaps}/a`, { metadata: { name: 'a' }, data: { n: '3' } }),
  ];
  for (const write of writes) {
    const answer = await write();
    expect(answer.ok).toBe(true);
    const phases = phasesOf(answer);
    expect(Object.keys(phases)).toEqual([
      'queue',
      'decode',
      'admission',
      'encode',
      'commit',
      'sync',
      'feed',
      'answer',
    ]);
    expect(phases.sync).toBeGreaterThan(0);
  }
  const removed = phasesOf(await send('DELETE', `${configMaps}/a`));
  expect(removed.sync).toBeGreaterThan(0);
  expect(removed.encode).toBeUndefined();
  expect(Object.keys(phasesOf(await send('GET', configMaps)))).toEqual(['queue', 'answer']);
});

it('sums them up by verb, as a table or as JSON, and begins anew', async () => {
  await send('DELETE', '/wherry/trace');
  for (let i = 0; i < 3; i++) await send('POST', configMaps, { metadata: { name: `b${i}` } });
  const answer = await fetch(`${cluster.url}/wherry/trace`, { headers: { Accept: 'application/json' } });
  const creates = ((await answer.json()) as any[]).find(({ verb }) => verb === 'create');
  expect(creates.requests).toBe(3);
  expect(creates.medianMs).toBeLessThanOrEqual(creates.p99Ms);
  expect(creates.slowestPhasesMs.commit).toBeGreaterThan(0);
  const text = await (await send('DELETE', '/wherry/trace')).text();
  expect(text).toMatch(/create +3 +\d/);
  expect(await (await send('GET', '/wherry/trace')).text()).not.toContain('create');
  expect((await send('POST', '/wherry/trace', {})).status).toBe(405);
});

it('does not tell users of the secure door what the server is busy with', async () => {
  const { status, timing } = await new Promise<{ status?: number; timing: unknown }>((resolve, reject) => {
    get(`${cluster.secureUrl}/version`, { rejectUnauthorized: false }, (answer) => {
      resolve({ status: answer.statusCode!, timing: answer.headers['server-timing'] });
      answer.resume();
    }).on('error', reject);
  });
  expect({ status, timing }).toEqual({ status: 200, timing: undefined });
});

it('measures nothing without the flag', async () => {
  const created = await untraced.post(configMaps, { metadata: { name: 'c' } });
  expect(created.headers['server-timing']).toBeUndefined();
  expect((await untraced.get('/wherry/trace')).status).toBe(404);
});
