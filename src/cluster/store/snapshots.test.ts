/**
 * Proves that snapshots bring back all objects of a running cluster and nothing else, that nodes and running pods stay what
 * they are, and that wrong requests are refused and change nothing.
 */
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';
import { SnapshotFolder } from './snapshot-shelf.ts';

const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-snapshots-'));
let cluster: Cluster;

beforeAll(async () => {
  cluster = await start({ dataDir, simulatedNodes: 2, controllers: ['*'] });
  await cluster.nodesReady;
});
afterAll(async () => {
  await cluster.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function send(method: string, place: string, body?: object): Promise<{ status: number; body: any }> {
  const answer = await fetch(new URL(place, cluster.url), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/merge-patch+json' } }),
  });
  return { status: answer.status, body: await answer.json().catch(() => undefined) };
}

const core = '/api/v1/namespaces/default';
const pod = `${core}/pods/lone`;
const running = async (): Promise<string> => {
  await expect
    .poll(async () => (await send('GET', pod)).body.status?.phase, { timeout: 60_000 })
    .toBe('Running');
  return (await send('GET', pod)).body.metadata.uid;
};

async function makePod(): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const made = await fetch(new URL(`${core}/pods`, cluster.url), {
    method: 'POST',
    body: JSON.stringify({ metadata: { name: 'lone' }, spec }),
  });
  expect(made.ok).toBe(true);
}

describe('a snapshot', () => {
  it('brings objects back that were changed or deleted, and removes those that are new', async () => {
    await makePod();
    const uid = await running();
    const map = { metadata: { name: 'kept' }, data: { a: '1' } };
    const before = (
      await fetch(new URL(`${core}/configmaps`, cluster.url), { method: 'POST', body: JSON.stringify(map) })
    ).json() as Promise<{ metadata: { uid: string } }>;
    const saved = await send('PUT', '/wherry/snapshots/clean');
    expect(saved).toMatchObject({ status: 200, body: { kind: 'Snapshot', name: 'clean' } });
    expect(saved.body.objects).toBeGreaterThan(10);
    expect(statSync(path.join(dataDir, 'snapshots/clean.snapshot')).mode & 0o777).toBe(0o600);

    await send('PATCH', `${core}/configmaps/kept`, { data: { a: '2' } });
    await send('PATCH', '/api/v1/nodes/simulated-1', { spec: { unschedulable: true } });
    const namespace = { method: 'POST', body: JSON.stringify({ metadata: { name: 'junk' } }) };
    await fetch(new URL('/api/v1/namespaces', cluster.url), namespace);
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/simulated-1';
    const { renewTime } = (await send('GET', lease)).body.spec;

    const loaded = await send('POST', '/wherry/snapshots/clean/load');
    expect(loaded).toMatchObject({ status: 200, body: { name: 'clean', objects: saved.body.objects } });
    expect(loaded.body.changed).toBeGreaterThanOrEqual(3);
    expect((await send('GET', `${core}/configmaps/kept`)).body).toMatchObject({
      metadata: { uid: (await before).metadata.uid },
      data: { a: '1' },
    });
    expect((await send('GET', '/api/v1/namespaces/junk')).status).toBe(404);
    const node = (await send('GET', '/api/v1/nodes/simulated-1')).body;
    expect(node.spec.unschedulable).toBeUndefined();
    expect(node.status.conditions.find(({ type }: { type: string }) => type === 'Ready').status).toBe('True');
    expect((await send('GET', lease)).body.spec.renewTime >= renewTime).toBe(true);
    // It ran all the time.
    expect(await running()).toBe(uid);
  });

  it('runs a pod again that is gone, as a new one', async () => {
    const uid = await running();
    await send('DELETE', `${pod}?gracePeriodSeconds=0`);
    expect((await send('GET', pod)).status).toBe(404);
    await send('POST', '/wherry/snapshots/clean/load');
    expect(await running()).not.toBe(uid);
  });

  it('is loaded when nothing has changed, and changes nothing', async () => {
    await send('PUT', '/wherry/snapshots/now');
    const { body } = await send('POST', '/wherry/snapshots/now/load');
    expect(body.changed).toBeLessThan(5);
    expect((await send('DELETE', '/wherry/snapshots/now')).body.name).toBe('now');
  });
});

describe('what is wrong', () => {
  it.each([
    ['PUT', '/wherry/snapshots/clean', 409, 'snapshots.wherry.dev "clean" already exists'],
    ['PUT', '/wherry/snapshots/A%20B', 400, 'the name of a snapshot is small letters'],
    ['PUT', '/wherry/snapshots/..%2fx', 404, ''],
    ['PUT', `/wherry/snapshots/${'x'.repeat(61)}`, 400, 'at most 60'],
    ['POST', '/wherry/snapshots/none/load', 404, 'snapshots.wherry.dev "none" not found'],
    ['DELETE', '/wherry/snapshots/none', 404, 'not found'],
    ['POST', '/wherry/snapshots/clean', 405, ''],
    ['GET', '/wherry/snapshots/clean/load', 405, ''],
    ['DELETE', '/wherry/snapshots', 405, ''],
    ['POST', '/wherry/snapshots/clean/save', 404, ''],
  ])('is refused: %s %s', async (method, place, code, words) => {
    const { status, body } = await send(method, place);
    expect(status).toBe(code);
    expect(body?.message ?? '').toContain(words);
    expect(
      (await send('GET', '/wherry/snapshots')).body.items.map(({ name }: { name: string }) => name),
    ).toEqual(['clean']);
  });

  it('two at once are refused, or follow each other', async () => {
    const codes = await Promise.all(
      ['a', 'b'].map(async (name) => (await send('PUT', `/wherry/snapshots/${name}`)).status),
    );
    expect(codes).toContain(200);
    expect(codes.filter((code) => code !== 200 && code !== 503)).toEqual([]);
    for (const name of ['a', 'b']) await send('DELETE', `/wherry/snapshots/${name}`);
  });

  it('a damaged file is not loaded', async () => {
    await send('PUT', '/wherry/snapshots/clean?replace=true');
    const file = path.join(dataDir, 'snapshots/clean.snapshot');
    truncateSync(file, statSync(file).size - 100);
    const { status, body } = await send('POST', '/wherry/snapshots/clean/load');
    expect(status).toBe(503);
    expect(body.message).toMatch(/the backup clean is damaged/);
    expect((await send('GET', pod)).status).toBe(200);
  });
});

it('a disk that is full is named, and nothing is left of what was begun', async () => {
  const folder = path.join(dataDir, 'full');
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const bytes = (async function* () {
    yield Buffer.from('begun');
    throw full;
  })();
  await expect(new SnapshotFolder(folder).put('a', bytes)).rejects.toThrow(
    `the disk of the data folder ${folder} is full`,
  );
  expect(readdirSync(folder)).toEqual([]);
});
