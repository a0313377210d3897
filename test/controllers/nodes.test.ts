/** Node lifecycle, evictions by taints, and pod collection, seen through the API. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { heartbeat, makeNode, podNamed, until, untilList } from './objects.ts';

const pods = '/api/v1/namespaces/default/pods';

const condition = (object: Json, type: string): Json =>
  object.status.conditions?.find((one: Json) => one.type === type);

const taints = (node: Json): string[] =>
  (node.spec.taints ?? []).map((taint: Json) => `${taint.key}:${taint.effect}`).sort();

describe('a node that must speak every second', () => {
  const api = useCluster({ controllerSettings: { nodeGraceMs: 1_000 } });

  /** Lets the node speak, again and again, until it fits. */
  async function speaksUntil(fits: (node: Json) => boolean): Promise<void> {
    const beating = setInterval(() => void heartbeat(api, 'n1').catch(() => undefined), 200);
    await heartbeat(api, 'n1');
    await until(api, '/api/v1/nodes/n1', fits).finally(() => clearInterval(beating));
  }

  // A silent node loses its conditions and gets the taints that keep pods away. Another one speaks all the time: if all
  // nodes were silent, no pods would be evicted.
  it('that falls silent is marked, and freed when it speaks again', async () => {
    await makeNode(api, 'steady');
    const steady = setInterval(() => void heartbeat(api, 'steady').catch(() => undefined), 200);
    onTestFinished(() => clearInterval(steady));
    await makeNode(api, 'n1');
    await speaksUntil((node) => taints(node).length === 0 && condition(node, 'Ready').status === 'True');
    await api.post(pods, podNamed('tenant', { nodeName: 'n1' }));
    await api.patch(`${pods}/tenant/status`, {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const silent = await until(
      api,
      '/api/v1/nodes/n1',
      (node) => condition(node, 'Ready').status === 'Unknown' && taints(node).length === 2,
    );
    expect(condition(silent, 'Ready')).toMatchObject({
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    });
    expect(condition(silent, 'MemoryPressure')).toMatchObject({
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
    });
    expect(taints(silent)).toEqual([
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/unreachable:NoSchedule',
    ]);
    await until(api, `${pods}/tenant`, (pod) => condition(pod, 'Ready').status === 'False');
    await untilList(api, '/api/v1/namespaces/default/events', (items) =>
      items.some(({ message }) => message === 'Node n1 status is now: NodeNotReady'),
    );
    await speaksUntil((node) => taints(node).length === 0);
  });

  it('that is gone takes its pods with it', async () => {
    await makeNode(api, 'n4');
    await api.post(pods, podNamed('orphan', { nodeName: 'n4' }));
    const watch = await api.watch(
      `${pods}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dorphan`,
    );
    await api.delete('/api/v1/nodes/n4');
    const failed = await watch.until(({ object }) => object.status.phase === 'Failed');
    expect(condition(failed.object, 'DisruptionTarget')).toMatchObject({
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
    });
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});

describe('a node', () => {
  const api = useCluster();

  it('is tainted by what it says of itself, and keeps the taints of others', async () => {
    await makeNode(api, 'ready');
    await makeNode(api, 'n2', { spec: { taints: [{ key: 'mine', effect: 'NoSchedule' }] } });
    await api.patch(
      '/api/v1/nodes/n2/status',
      {
        status: {
          conditions: [
            { type: 'MemoryPressure', status: 'True' },
            { type: 'Ready', status: 'False' },
          ],
        },
      },
      'application/strategic-merge-patch+json',
    );
    const node = await until(api, '/api/v1/nodes/n2', (one) => taints(one).length === 4);
    expect(taints(node)).toEqual([
      'mine:NoSchedule',
      'node.kubernetes.io/memory-pressure:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
      'node.kubernetes.io/not-ready:NoSchedule',
    ]);
  });

  it('that is cordoned is tainted too', async () => {
    await makeNode(api, 'n3');
    await api.patch('/api/v1/nodes/n3', { spec: { unschedulable: true } });
    await until(api, '/api/v1/nodes/n3', (node) =>
      taints(node).includes('node.kubernetes.io/unschedulable:NoSchedule'),
    );
    await api.patch('/api/v1/nodes/n3', { spec: { unschedulable: null } });
    await until(
      api,
      '/api/v1/nodes/n3',
      (node) => !taints(node).includes('node.kubernetes.io/unschedulable:NoSchedule'),
    );
  });
});

describe('a pod', () => {
  const api = useCluster({ controllers: ['-scheduler'], controllerSettings: { finishedPodsMax: 2 } });
  const taint = { key: 'away', effect: 'NoExecute' };

  // Evicted at once without a toleration, after its time with a limited one, never with an unlimited one.
  it('leaves a node whose taint it does not tolerate, when its time is up', async () => {
    await makeNode(api, 'n1');
    const tolerates = (name: string, tolerations: object[]): Json =>
      podNamed(name, { nodeName: 'n1', tolerations });
    await api.post(pods, tolerates('impatient', []));
    const forSeconds = (tolerationSeconds: number) => [
      { key: 'away', operator: 'Exists', effect: 'NoExecute', tolerationSeconds },
    ];
    await api.post(pods, tolerates('patient', forSeconds(3600)));
    await api.post(pods, tolerates('polite', forSeconds(1)));
    await api.post(pods, tolerates('stoic', [{ key: 'away', operator: 'Exists', effect: 'NoExecute' }]));
    await api.patch('/api/v1/nodes/n1', { spec: { taints: [taint] } });
    const first = await until(api, `${pods}/impatient`, (pod) => Boolean(pod.metadata.deletionTimestamp));
    expect(condition(first, 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'DeletionByTaintManager',
    });
    await until(api, `${pods}/polite`, (pod) => Boolean(pod.metadata.deletionTimestamp));
    for (const name of ['patient', 'stoic'])
      expect((await api.get(`${pods}/${name}`)).body.metadata.deletionTimestamp).toBeUndefined();
    await untilList(api, '/api/v1/namespaces/default/events', (items) =>
      items.some(({ message }) => message === 'Marking for deletion Pod default/polite'),
    );
  });

  it('stays when the taint is taken off in time', async () => {
    await makeNode(api, 'n2');
    const tolerations = [{ key: 'away', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3600 }];
    await api.post(pods, podNamed('lucky', { nodeName: 'n2', tolerations }));
    await api.patch('/api/v1/nodes/n2', { spec: { taints: [taint] } });
    await until(api, '/api/v1/nodes/n2', (node) => taints(node).includes('away:NoExecute'));
    await api.patch('/api/v1/nodes/n2', { spec: { taints: null } });
    await untilList(api, '/api/v1/namespaces/default/events', (items) =>
      items.some(({ message }) => message === 'Cancelling deletion of Pod default/lucky'),
    );
    expect((await api.get(`${pods}/lucky`)).body.metadata.deletionTimestamp).toBeUndefined();
  });

  it('that has finished goes when there are too many of its kind, the oldest first', async () => {
    await makeNode(api, 'n3');
    for (const name of ['one', 'two', 'three']) {
      await api.post(pods, podNamed(name, { nodeName: 'n3' }, { labels: { done: 'yes' } }));
      await api.patch(`${pods}/${name}/status`, { status: { phase: 'Succeeded' } });
    }
    const left = await untilList(api, `${pods}?labelSelector=done`, (items) => items.length === 2);
    expect(left.map(({ metadata }) => metadata.name).sort()).toEqual(['three', 'two']);
  });
});

describe('an event', () => {
  const api = useCluster({ controllerSettings: { eventLifeMs: 500 } });

  it('goes when its time is up', async () => {
    const events = '/api/v1/namespaces/default/events';
    const now = new Date().toISOString().replace(/\.\d+/, '');
    const { resourceVersion } = (await api.get(events)).body.metadata;
    await api.post(events, {
      metadata: { name: 'brief' },
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
      lastTimestamp: now,
    });
    const watch = await api.watch(
      `${events}?watch=true&resourceVersion=${resourceVersion}&fieldSelector=metadata.name%3Dbrief`,
    );
    await watch.until(({ type }) => type === 'DELETED');
    watch.close();
  });
});
