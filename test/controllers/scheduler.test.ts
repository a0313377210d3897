/** The scheduler, through the API: which node a pod gets, and the message for a pod that gets none. */
import { describe, expect, it } from 'vitest';
import { type Client, type Json, useCluster } from '../support/http.ts';
import { makeNode, podNamed, until, untilList } from './objects.ts';

const pods = '/api/v1/namespaces/default/pods';

const placed = async (client: Client, name: string): Promise<string> =>
  (await until(client, `${pods}/${name}`, (pod) => Boolean(pod.spec.nodeName))).spec.nodeName;

const refused = async (client: Client, name: string): Promise<string> => {
  const scheduled = (pod: Json): Json =>
    pod.status.conditions?.find((condition: Json) => condition.type === 'PodScheduled');
  const pod = await until(client, `${pods}/${name}`, (one) => scheduled(one)?.status === 'False');
  expect(scheduled(pod).reason).toBe('Unschedulable');
  return scheduled(pod).message;
};

const request = (cpu: string, memory?: string): object => ({
  containers: [
    {
      name: 'c',
      image: 'host',
      command: ['true'],
      resources: { requests: { cpu, ...(memory ? { memory } : {}) } },
    },
  ],
});

describe('a pod that fits somewhere', () => {
  const client = useCluster();

  // A bound pod has its node, the PodScheduled condition, and an event.
  it('is bound, and told so', async () => {
    await makeNode(client, 'n1');
    await client.post(pods, podNamed('first'));
    const pod = await until(client, `${pods}/first`, (one) => one.spec.nodeName === 'n1');
    expect(pod.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'PodScheduled', status: 'True' }),
    );
    const [event] = await untilList(client, '/api/v1/namespaces/default/events', (items) =>
      items.some(({ reason }) => reason === 'Scheduled'),
    );
    expect(event).toMatchObject({
      message: 'Successfully assigned default/first to n1',
      involvedObject: { kind: 'Pod', name: 'first', uid: pod.metadata.uid },
      type: 'Normal',
      action: 'Binding',
      reportingComponent: 'default-scheduler',
      source: {},
    });
    expect(event.eventTime).toMatch(/^\d{4}-.*\.\d{6}Z$/);
  });

  // Pods of one owner, or equal pods, are spread over nodes.
  it('goes where there is most room', async () => {
    await makeNode(client, 'n2');
    await makeNode(client, 'n3');
    await Promise.all(
      Array.from({ length: 9 }, (_, i) => client.post(pods, podNamed(`many-${i}`, request('200m')))),
    );
    const counts: Record<string, number> = {};
    for (let i = 0; i < 9; i++) {
      const node = await placed(client, `many-${i}`);
      counts[node] = (counts[node] ?? 0) + 1;
    }
    expect(Object.keys(counts).sort()).toEqual(['n1', 'n2', 'n3']);
    for (const count of Object.values(counts)) expect(count).toBeLessThanOrEqual(4);
  });

  // Pods of other schedulers are ignored, as are pods that already have a node.
  it('is left alone when it is for another scheduler', async () => {
    await client.post(pods, podNamed('foreign', { schedulerName: 'mine' }));
    await client.post(pods, podNamed('marker'));
    await placed(client, 'marker');
    const foreign = (await client.get(`${pods}/foreign`)).body;
    expect(foreign.spec.nodeName).toBeUndefined();
    expect(foreign.status.conditions ?? []).toEqual([]);
  });
});

describe('filters', () => {
  const client = useCluster();

  // Without any node the message says so; the pod is retried when one appears.
  it('tells that there are no nodes, and tries again when there is one', async () => {
    await client.post(pods, podNamed('early'));
    expect(await refused(client, 'early')).toBe('no nodes available to schedule pods');
    await makeNode(client, 'small', { cpu: '1', labels: { disk: 'ssd', zone: 'a' } });
    expect(await placed(client, 'early')).toBe('small');
  });

  it('counts requests against what the node has', async () => {
    await client.post(pods, podNamed('greedy', request('2')));
    expect(await refused(client, 'greedy')).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    );
    await makeNode(client, 'big', { cpu: '8', labels: { disk: 'hdd', zone: 'b' } });
    expect(await placed(client, 'greedy')).toBe('big');
  });

  it('heeds node selectors and required node affinity', async () => {
    await client.post(pods, podNamed('selective', { nodeSelector: { disk: 'ssd' } }));
    expect(await placed(client, 'selective')).toBe('small');
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'NotIn', values: ['ssd'] }] }],
        },
      },
    };
    await client.post(pods, podNamed('affine', { affinity }));
    expect(await placed(client, 'affine')).toBe('big');
    await client.post(pods, podNamed('nowhere', { nodeSelector: { disk: 'tape' } }));
    expect(await refused(client, 'nowhere')).toBe(
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
    );
  });

  it('keeps pods off tainted and unschedulable nodes unless they tolerate it', async () => {
    await client.patch('/api/v1/nodes/big', {
      spec: { taints: [{ key: 'only', value: 'me', effect: 'NoSchedule' }] },
    });
    await client.post(pods, podNamed('plain', { nodeSelector: { disk: 'hdd' } }));
    expect(await refused(client, 'plain')).toContain('1 node(s) had untolerated taint(s)');
    const tolerations = [{ key: 'only', operator: 'Equal', value: 'me', effect: 'NoSchedule' }];
    await client.post(pods, podNamed('tolerant', { nodeSelector: { disk: 'hdd' }, tolerations }));
    expect(await placed(client, 'tolerant')).toBe('big');
    await client.patch('/api/v1/nodes/big', { spec: { taints: null, unschedulable: true } });
    await client.post(pods, podNamed('shut-out', { nodeSelector: { disk: 'hdd' } }));
    expect(await refused(client, 'shut-out')).toContain('node(s) were unschedulable');
    await client.patch('/api/v1/nodes/big', { spec: { unschedulable: null } });
    expect(await placed(client, 'shut-out')).toBe('big');
  });

  it('gives a host port once per node, and again when it is free', async () => {
    const ports = {
      containers: [{ name: 'c', image: 'host', ports: [{ containerPort: 80, hostPort: 8080 }] }],
    };
    for (const name of ['port-1', 'port-2', 'port-3']) await client.post(pods, podNamed(name, ports));
    const nodes = [await placed(client, 'port-1'), await placed(client, 'port-2')];
    expect(nodes.sort()).toEqual(['big', 'small']);
    expect(await refused(client, 'port-3')).toContain(
      "2 node(s) didn't have free ports for the requested pod ports",
    );
    await client.delete(`${pods}/port-1`, { gracePeriodSeconds: 0 });
    await placed(client, 'port-3');
  });

  it('waits for claims', async () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
    await client.post(pods, podNamed('claiming', { volumes }));
    expect(await refused(client, 'claiming')).toContain('persistentvolumeclaim "data" not found');
  });

  it('keeps apart what asks to be apart, and together what asks for that', async () => {
    const term = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'db' } } };
    const apart = {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    };
    const near = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
    const labels = { labels: { app: 'db' } };
    await client.post(pods, podNamed('near', near));
    expect(await refused(client, 'near')).toContain("2 node(s) didn't match pod affinity rules");
    await client.post(pods, podNamed('db-1', apart, labels));
    const first = await placed(client, 'db-1');
    expect(await placed(client, 'near')).toBe(first);
    await client.post(pods, podNamed('db-2', apart, labels));
    expect(await placed(client, 'db-2')).not.toBe(first);
    await client.post(pods, podNamed('db-3', apart, labels));
    expect(await refused(client, 'db-3')).toContain("2 node(s) didn't match pod anti-affinity rules");
    // Anti-affinity of existing pods counts, too.
    await client.post(pods, podNamed('db-4', {}, labels));
    expect(await refused(client, 'db-4')).toContain(
      "2 node(s) didn't satisfy existing pods anti-affinity rules",
    );
  });

  it('keeps the skew of a spread', async () => {
    const spread = (name: string): Json =>
      podNamed(
        name,
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: { app: 'even' } },
            },
          ],
        },
        { labels: { app: 'even' } },
      );
    for (const name of ['even-1', 'even-2', 'even-3', 'even-4']) {
      await client.post(pods, spread(name));
      await placed(client, name);
    }
    const nodes = await Promise.all([1, 2, 3, 4].map((i) => placed(client, `even-${i}`)));
    expect(nodes.filter((node) => node === 'small')).toHaveLength(2);
  });
});
