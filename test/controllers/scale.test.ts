/**
 * A thousand pods on a hundred simulated nodes, and with `npm test` a third of both: all run, evenly spread, and without
 * unnecessary writes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { until } from './objects.ts';

const podCount = isRelease ? 1_000 : 300;
const nodeCount = podCount / 10;
/** Created, bound and running. */
const statesOfAPod = 3;
const podsPath = '/api/v1/namespaces/default/pods';

let cluster: Cluster;
const api = new Client(() => cluster.url);
const errors: Error[] = [];

beforeAll(async () => {
  cluster = await start({
    store: 'memory',
    simulatedNodes: nodeCount,
    onError: (error) => errors.push(error),
  });
  await cluster.nodesReady;
});
afterAll(() => cluster?.close());

describe('a large cluster', () => {
  it('runs all pods of a large controller', { timeout: 300_000 }, async () => {
    const watch = await api.watch(`${podsPath}?watch=true&resourceVersion=0`);
    const template = {
      metadata: { labels: { app: 'many' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    const made = await api.post('/api/v1/namespaces/default/replicationcontrollers', {
      metadata: { name: 'many' },
      spec: { replicas: podCount, selector: { app: 'many' }, template },
    });
    expect(made.status, made.text).toBe(200);
    const pods = new Map<string, Json>();
    const isReady = ({ status }: Json): boolean =>
      status.phase === 'Running' &&
      status.conditions.some((one: Json) => one.type === 'Ready' && one.status === 'True');
    const ready = new Set<string>();
    let events = 0;
    while (ready.size < podCount) {
      const { type, object } = await watch.next();
      events++;
      expect(type).not.toBe('DELETED');
      pods.set(object.metadata.name, object);
      if (isReady(object)) ready.add(object.metadata.name);
    }
    watch.close();
    expect(pods.size).toBe(podCount);
    expect(events, 'changes of pods').toBeLessThanOrEqual(statesOfAPod * podCount * 1.1);
    expect(new Set([...pods.values()].map(({ status }) => status.podIP)).size).toBe(podCount);
    const perNode = new Map<string, number>();
    for (const { spec } of pods.values()) perNode.set(spec.nodeName, (perNode.get(spec.nodeName) ?? 0) + 1);
    const share = podCount / nodeCount;
    expect(perNode.size).toBe(nodeCount);
    expect(Math.min(...perNode.values())).toBeGreaterThanOrEqual(share / 2);
    expect(Math.max(...perNode.values())).toBeLessThanOrEqual(share * 2);
    const path = '/api/v1/namespaces/default/replicationcontrollers/many';
    await until(api, path, ({ status }) => status.readyReplicas === podCount);
    expect(errors).toEqual([]);
  });

  it('can get another simulated node, and lose it without a word', async () => {
    await cluster.simulated.start('another');
    const ready = (node: Json): boolean =>
      node.status.conditions.some((one: Json) => one.type === 'Ready' && one.status === 'True');
    await until(api, '/api/v1/nodes/another', (node) => ready(node) && !node.spec.taints);
    expect((await api.get('/api/v1/nodes/another/proxy/pods')).status).toBe(200);
    await cluster.simulated.stop('another');
    const lost = await api.get('/api/v1/nodes/another');
    expect(ready(lost.body)).toBe(true);
    expect((await api.get('/api/v1/nodes/another/proxy/pods')).status).toBeGreaterThanOrEqual(500);
    await expect(cluster.simulated.start('No Name')).rejects.toThrow('"No Name" is no name for a node');
  });
});
