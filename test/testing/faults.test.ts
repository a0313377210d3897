/** Proves that requests, watches, writes, nodes and containers of a test cluster fail as rules say. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';
import { readEvents } from './watchevents.ts';

const patient = { timeoutMs: 60_000 };
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({ simulatedNodes: 2 });
});
beforeEach(() => cluster.reset());
afterAll(() => cluster.close());

const maps = '/api/v1/namespaces/default/configmaps';
const create = (name: string, headers: Record<string, string> = {}) =>
  fetch(cluster.url + maps, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ metadata: { name } }),
  });
const read = async (name: string) => (await fetch(`${cluster.url}${maps}/${name}`)).status;
const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'work' }] },
});

describe('a fault', () => {
  it('answers a status, as often as it says, to requests that match', async () => {
    const fault = cluster.faults.add({
      verb: 'create',
      kind: 'ConfigMap',
      namespace: 'def*',
      userAgent: /^tested/,
      status: 429,
      retryAfterSeconds: 7,
      times: 2,
      after: 1,
    });
    const asTested = { 'User-Agent': 'tested/1' };
    expect((await create('zero')).status).toBe(200);
    expect((await create('one', asTested)).status).toBe(200);
    const refused = await create('two', asTested);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('7');
    expect(await refused.json()).toMatchObject({ kind: 'Status', reason: 'TooManyRequests', code: 429 });
    expect((await create('two', asTested)).status).toBe(429);
    expect((await create('two', asTested)).status).toBe(200);
    expect(fault.hits).toBe(2);
    expect(cluster.faults.list()).toEqual([]);
  });

  it('can be for one name, with its own words, until it is removed', async () => {
    await create('one');
    const fault = cluster.faults.add({ name: 'one', status: 500, reason: 'Broken', message: 'on fire' });
    const answer = await fetch(`${cluster.url}${maps}/one`);
    expect(await answer.json()).toMatchObject({ reason: 'Broken', message: 'on fire', code: 500 });
    fault.remove();
    expect(await read('one')).toBe(200);
  });

  it('delays an answer', async () => {
    cluster.faults.add({ verb: 'get', delayMs: 100 });
    const begunMs = performance.now();
    expect(await read('one')).toBe(404);
    expect(performance.now() - begunMs).toBeGreaterThan(95);
  });

  it('closes the connection, before or after the write', async () => {
    cluster.faults.add({ verb: 'create', name: '', close: true, times: 1 });
    await expect(create('never')).rejects.toThrow();
    expect(await read('never')).toBe(404);
    cluster.faults.add({ verb: 'create', loseAnswer: true, times: 1 });
    await expect(create('written')).rejects.toThrow();
    expect(await read('written')).toBe(200);
  });

  it('ends watches: cut, or with 410', async () => {
    const url = `${cluster.url}${maps}?watch=true&resourceVersion=0`;
    await create('one');
    const first = await readEvents(url);
    await first.next();
    cluster.faults.add({ verb: 'watch', kind: 'configmaps', cutWatch: true, times: 1 });
    await expect(first.rest()).rejects.toThrow();
    const second = await readEvents(url);
    await second.next();
    cluster.faults.add({ verb: 'watch', kind: 'ConfigMap', expireWatch: true, times: 2 });
    expect((await second.rest()).at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    const third = await readEvents(url);
    expect((await third.rest()).at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    const fourth = await readEvents(url);
    expect(await fourth.next()).toMatchObject({ type: 'ADDED' });
    fourth.close();
  });

  it('refuses writes as a full disk does, whoever writes', async () => {
    cluster.faults.add({ kind: 'ConfigMap', refuseWrites: true });
    const refused = await create('one');
    expect(refused.status).toBe(500);
    expect(((await refused.json()) as { message: string }).message).toContain('no space left');
    cluster.faults.clear();
    expect((await create('one')).status).toBe(200);
  });

  it('is refused when it makes no sense', () => {
    const add = (rule: object) => () => cluster.faults.add(rule);
    expect(add({})).toThrow('a fault has exactly one of status,');
    expect(add({ status: 500, close: true })).toThrow('exactly one');
    expect(add({ status: 5000 })).toThrow('status of a fault is a whole number');
    expect(add({ status: 500, tiems: 2 })).toThrow('cannot be matched by "tiems"');
    expect(add({ status: 500, kind: 5 })).toThrow('5 is no pattern for kind');
  });
});

describe('accidents', () => {
  it('of nodes: a node is dropped, and comes back', async () => {
    await cluster.faults.dropNode('simulated-1');
    await cluster.clock.advance('2m');
    const ready = await cluster.waitFor('Node/simulated-1', (node) =>
      node?.status.conditions.some((one: any) => one.type === 'Ready' && one.status === 'Unknown'),
    );
    expect(ready).toBeDefined();
    await cluster.faults.restartNode('simulated-1');
    await cluster.waitFor('Node/simulated-1', 'Ready', patient);
    await expect(cluster.faults.dropNode('nowhere')).rejects.toThrow('no simulated node');
  });

  it('of containers: one is killed, and starts again', async () => {
    await cluster.apply(pod('worker'));
    await cluster.waitFor('Pod/worker', 'Ready', patient);
    cluster.faults.killContainer({ namespace: 'default', name: 'worker' });
    const again = await cluster.waitFor(
      'Pod/worker',
      (found) => found?.status.containerStatuses[0].restartCount === 1,
      patient,
    );
    expect(again!.status.containerStatuses[0].lastState.terminated.exitCode).toBe(137);
    expect(() => cluster.faults.killContainer({ namespace: 'default', name: 'nobody' })).toThrow('runs');
  });
});

describe('chaos', () => {
  const outcomes = async (seed: number): Promise<number[]> => {
    cluster.faults.chaos(seed, { rate: 0.5, effects: [{ status: 500 }, { status: 429 }] });
    const codes: number[] = [];
    for (let i = 0; i < 20; i++) codes.push(await read('one'));
    return codes;
  };

  it('is the same for the same seed, and another for another', async () => {
    const first = await outcomes(7);
    expect(new Set(first)).toEqual(new Set([404, 429, 500]));
    expect(await outcomes(7)).toEqual(first);
    expect(await outcomes(8)).not.toEqual(first);
    cluster.faults.clear();
    expect(await read('one')).toBe(404);
  });
});
