/** Proves that a test cluster can return to states and be forked, and that watches of clients are told to list again. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';
import { readEvents } from './watch-events.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await testCluster({
    fixtures: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first' }, data: { a: '1' } },
  });
});
beforeEach(() => cluster.reset());
afterAll(() => cluster.close());

const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const path = '/api/v1/namespaces/default/configmaps';
const names = async ({ url }: TestCluster): Promise<string[]> => {
  const { items } = (await (await fetch(url + path)).json()) as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
};
const dataOf = async ({ url }: TestCluster, name: string): Promise<unknown> =>
  ((await (await fetch(`${url}${path}/${name}`)).json()) as { data: unknown }).data;

describe('a test cluster', () => {
  it('begins with its fixtures, and returns to them', async () => {
    await cluster.apply([configMap('second'), configMap('first', { a: '2' })]);
    expect(await names(cluster)).toEqual(['first', 'second']);
    await cluster.reset();
    expect(await names(cluster)).toEqual(['first']);
    expect(await dataOf(cluster, 'first')).toEqual({ a: '1' });
  });

  it('returns to a snapshot: to deleted objects, changed ones, and without new ones', async () => {
    await cluster.apply([configMap('kept', { b: '1' }), configMap('deleted')]);
    await cluster.snapshot('filled');
    await fetch(`${cluster.url}${path}/deleted`, { method: 'DELETE' });
    await cluster.apply([configMap('kept', { b: '2' }), configMap('new')]);
    await cluster.restore('filled');
    expect(await names(cluster)).toEqual(['deleted', 'first', 'kept']);
    expect(await dataOf(cluster, 'kept')).toEqual({ b: '1' });
    await expect(cluster.restore('nothing')).rejects.toThrow('there is no snapshot "nothing"');
  });

  it('gives back an object that was replaced by another of the same name', async () => {
    const uid = async () => (await cluster.waitFor('ConfigMap/first', 'exists'))!.metadata.uid;
    const before = await uid();
    await fetch(`${cluster.url}${path}/first`, { method: 'DELETE' });
    await cluster.apply(configMap('first', { other: '1' }));
    expect(await uid()).not.toBe(before);
    await cluster.reset();
    expect(await uid()).toBe(before);
  });

  it('ends watches of clients with 410, and tells controllers of the change', async () => {
    const watch = await readEvents(`${cluster.url}${path}?watch=true&resourceVersion=0`);
    expect(await watch.next()).toMatchObject({ type: 'ADDED' });
    await cluster.apply(configMap('second'));
    await cluster.reset();
    const rest = await watch.rest();
    expect(rest.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    const list = (await (await fetch(cluster.url + path)).json()) as {
      metadata: { resourceVersion: string };
    };
    const again = await readEvents(
      `${cluster.url}${path}?watch=true&resourceVersion=${list.metadata.resourceVersion}`,
    );
    await cluster.apply(configMap('third'));
    expect(await again.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'third' } } });
    again.close();
  });

  it('restores custom kinds with their objects', async () => {
    const boatSpec = { type: 'object', properties: { seats: { type: 'integer' } } };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'boats.test.dev' },
      spec: {
        group: 'test.dev',
        names: { kind: 'Boat', plural: 'boats' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: boatSpec } } },
          },
        ],
      },
    };
    const boat = { apiVersion: 'test.dev/v1', kind: 'Boat', metadata: { name: 'one' }, spec: { seats: 4 } };
    await cluster.apply([boat, definition]);
    await cluster.snapshot('afloat');
    const url = `${cluster.url}/apis/test.dev/v1/namespaces/default/boats/one`;
    await cluster.reset();
    await cluster.settled();
    expect((await fetch(url)).status).toBe(404);
    await cluster.restore('afloat');
    await cluster.settled();
    expect(await (await fetch(url)).json()).toMatchObject({ spec: { seats: 4 } });
  });

  it('records changes of objects that were there before it was reset or forked as changes', async () => {
    await cluster.apply(configMap('old'));
    await cluster.snapshot('with old');
    const fork = await cluster.fork();
    expect(fork.history('ConfigMap/old')).toEqual([]);
    await fork.apply({ ...configMap('old'), data: { color: 'blue' } });
    const [version] = fork.history('ConfigMap/old');
    expect(version).toMatchObject({
      type: 'MODIFIED',
      changes: [{ path: 'data', before: undefined, after: { color: 'blue' } }],
    });
    const url = fork.url;
    const parent = await cluster.fork();
    const child = await parent.fork();
    await parent.close();
    // Nothing of it is left that would keep a process alive.
    await expect(fetch(`${child.url}/version`)).rejects.toThrow('fetch failed');
    expect((await fetch(`${url}/version`)).status).toBe(200);
    await fork.close();
  });

  it('forks into a second cluster with the same objects, which are then its own', async () => {
    await cluster.apply(configMap('shared'));
    const fork = await cluster.fork();
    expect(await names(fork)).toEqual(['first', 'shared']);
    await fork.apply(configMap('only-there'));
    await cluster.apply(configMap('only-here'));
    expect(await names(fork)).toEqual(['first', 'only-there', 'shared']);
    expect(await names(cluster)).toEqual(['first', 'only-here', 'shared']);
    await fork.reset();
    expect(await names(fork)).toEqual(['first', 'shared']);
    await fork.close();
  });

  it('forks with containers that go on: same ids, addresses and restarts', async () => {
    const patient = { timeoutMs: 60_000 };
    const pod = { metadata: { name: 'worker' }, spec: { containers: [{ name: 'main', image: 'work' }] } };
    await cluster.cluster.simulated.start('simulated-1');
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', ...pod });
    await cluster.waitFor('Pod/worker', 'Ready', patient);
    cluster.faults.killContainer({ namespace: 'default', name: 'worker' });
    const restarted = (found: any) =>
      found?.status.containerStatuses[0].restartCount === 1 && found.status.containerStatuses[0].ready;
    const before = await cluster.waitFor('Pod/worker', restarted, patient);
    await cluster.settled(patient);
    const fork = await cluster.fork();
    try {
      await fork.settled(patient);
      const there = await fork.waitFor('Pod/worker', restarted, patient);
      expect(there!.status.containerStatuses).toEqual(before!.status.containerStatuses);
      expect(there!.status.podIP).toBe(before!.status.podIP);
      // It is a container of its own.
      fork.faults.killContainer({ namespace: 'default', name: 'worker' });
      await fork.waitFor(
        'Pod/worker',
        (found) => found?.status.containerStatuses[0].restartCount === 2,
        patient,
      );
      expect(await cluster.waitFor('Pod/worker', restarted, patient)).toBeDefined();
    } finally {
      await fork.close();
    }
  });
});
