/** Proves that requests, watches, writes, nodes and containers of a test cluster fail as rules say. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';
import { readEvents } from './watch-events.ts';

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

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

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
    const fault = cluster.faults.add({ verb: 'get', name: 'late', delayMs: 600_000 });
    const late = read('late');
    await until(() => fault.hits === 1);
    // Others are answered meanwhile, and it is not.
    expect(await read('one')).toBe(404);
    expect(cluster.requests({ name: 'late' })).toMatchObject([{ code: undefined }]);
    cluster.faults.clear();
    expect(await late).toBe(404);
    cluster.faults.add({ verb: 'get', delayMs: 1 });
    expect(await read('one')).toBe(404);
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
    const problems = async () =>
      ((await (await fetch(`${cluster.url}/wherry/problems`)).json()) as { items: object[] }).items;
    const message = 'nothing can be written: the store is full: no space left on device';
    // Every writer: a write that succeeds would end the problem.
    cluster.faults.add({ kind: '*', refuseWrites: true });
    expect((await create('two')).status).toBe(500);
    expect(await problems()).toContainEqual({ severity: 'error', message, count: 1, objects: [] });
    cluster.faults.clear();
    expect((await create('one')).status).toBe(200);
    expect(await problems()).toEqual([]);
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

describe('accidents of a node that runs processes', () => {
  let real: TestCluster;
  beforeAll(async () => {
    real = await testCluster({
      node: { name: 'here', runtime: 'process' },
      controllerSettings: { nodeGraceMs: 10_000 },
    });
  });
  afterAll(() => real.close());
  const working = (name: string) => ({
    ...pod(name),
    spec: { containers: [{ name: 'main', image: 'host', command: ['sleep', '1000'] }] },
  });

  it('a container is killed, and starts again', async () => {
    await real.apply(working('worker'));
    await real.waitFor('Pod/worker', 'Ready', patient);
    real.faults.killContainer({ namespace: 'default', name: 'worker' }, 'main');
    const again = await real.waitFor(
      'Pod/worker',
      (found) => found?.status.containerStatuses[0].restartCount === 1,
      patient,
    );
    expect(again!.status.containerStatuses[0].lastState.terminated.exitCode).toBe(137);
  });

  it('it is dropped without a word, and comes back', async () => {
    await real.faults.dropNode('here');
    expect(real.events('Node/here').filter(({ reason }) => reason === 'NodeNotReady')).toEqual([]);
    await real.clock.advance('1m');
    await real.waitFor(
      'Node/here',
      (node) => node?.status.conditions.some((one: any) => one.type === 'Ready' && one.status === 'Unknown'),
      patient,
    );
    await real.faults.restartNode('here');
    await real.waitFor('Node/here', 'Ready', patient);
    await real.apply(working('second'));
    await real.waitFor('Pod/second', 'Ready', patient);
  });

  it('it is back after a reset', async () => {
    await real.faults.dropNode('here');
    await real.reset();
    await real.apply(working('third'));
    await real.waitFor('Pod/third', 'Ready', patient);
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

  it('ends watches', async () => {
    const watch = await readEvents(`${cluster.url}${maps}?watch=true&resourceVersion=0`);
    cluster.faults.chaos(1, { rate: 1, match: { verb: 'get' }, effects: [{ expireWatch: true }] });
    expect(await read('one')).toBe(404);
    expect((await watch.rest()).at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  });

  it('kills containers, and takes the power from nodes until it ends', async () => {
    await cluster.apply(pod('worker'));
    await cluster.waitFor('Pod/worker', 'Ready', patient);
    cluster.faults.chaos(1, { rate: 1, match: { verb: 'get' }, effects: [{ killContainer: true }] });
    expect(await read('one')).toBe(404);
    await cluster.waitFor(
      'Pod/worker',
      (found) => found?.status.containerStatuses[0].restartCount > 0,
      patient,
    );
    cluster.faults.chaos(1, { rate: 1, match: { verb: 'get' }, effects: [{ dropNodeMs: 3_000_000 }] });
    for (let i = 0; i < 3; i++) expect(await read('one')).toBe(404);
    await cluster.clock.advance('2m');
    const isLost = (node: any) =>
      node?.status.conditions.some((one: any) => one.type === 'Ready' && one.status === 'Unknown');
    for (const name of ['Node/simulated-1', 'Node/simulated-2']) await cluster.waitFor(name, isLost, patient);
    cluster.faults.clear();
    for (const name of ['Node/simulated-1', 'Node/simulated-2'])
      await cluster.waitFor(name, 'Ready', patient);
  });

  it('is refused with effects that there are not', () => {
    const begin = (effects: any) => () => cluster.faults.chaos(1, { effects });
    expect(begin([])).toThrow('from 1 to');
    expect(begin([{ status: 500, close: true }])).toThrow('exactly one of status,');
    expect(begin([{ explode: true }])).toThrow('exactly one of status,');
    expect(begin([{ dropNodeMs: -1 }])).toThrow('-1 is no value of dropNodeMs');
  });
});
