/** Workloads: the kinds of apps/v1 with all verbs, without controllers that act on them. */
import { describe, expect, it } from 'vitest';
import { housekeeping, type Json, strategicPatch, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { created } from './objects.ts';

const client = useCluster({ controllers: housekeeping });
const home = '/apis/apps/v1/namespaces/default';
const pathOf = (resource: string, name = '', namespace = 'default'): string =>
  `/apis/apps/v1/namespaces/${namespace}/${resource}${name && `/${name}`}`;

const workload = (name: string, spec: Json = {}, metadata: Json = {}): Json => ({
  metadata: { name, ...metadata },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'registry.example/c:1' }] },
    },
    ...spec,
  },
});
const make = (resource: string, body: Json): Promise<Json> => created(client, pathOf(resource), body);

describe.each([
  ['deployments', 'Deployment'],
  ['replicasets', 'ReplicaSet'],
  ['statefulsets', 'StatefulSet'],
  ['daemonsets', 'DaemonSet'],
])('%s', (resource, kind) => {
  const path = (name: string) => pathOf(resource, name);

  it('begin with the first generation and without a status', async () => {
    const { apiVersion, metadata, status } = await make(resource, {
      ...workload('begun', {}, { generation: 7 }),
      status: { replicas: 5, observedGeneration: 5 },
    });
    expect([apiVersion, metadata.generation]).toEqual(['apps/v1', 1]);
    expect(Object.values(status).every((count) => count === 0)).toBe(true);
  });

  it('have a new generation with a new spec, and a status of their own', async () => {
    await make(resource, workload('grown'));
    const generation = async (body: Json, part = '') =>
      (await client.patch(`${path('grown')}${part}`, body)).body.metadata.generation;
    expect(await generation({ metadata: { labels: { x: 'y' } } })).toBe(1);
    expect(await generation({ spec: { minReadySeconds: 5 } })).toBe(2);
    expect(await generation({ status: { observedGeneration: 2 } })).toBe(2);
    expect(
      await generation({ spec: { minReadySeconds: 6 }, status: { observedGeneration: 2 } }, '/status'),
    ).toBe(2);
    const { spec, status } = (await client.get(path('grown'))).body;
    expect([spec.minReadySeconds, status.observedGeneration]).toEqual([5, 2]);
  });

  it('merge containers by name in a strategic patch', async () => {
    await make(resource, workload('merged'));
    const containers = [
      { name: 'c', image: 'registry.example/c:2' },
      { name: 'd', image: 'registry.example/d:1' },
    ];
    const patch = { spec: { template: { spec: { containers } } } };
    const { body } = await client.patch(path('merged'), patch, strategicPatch);
    const images = body.spec.template.spec.containers.map(({ name, image }: Json) => `${name} ${image}`);
    expect(images.sort()).toEqual(['c registry.example/c:2', 'd registry.example/d:1']);
  });

  it('are refused with the words of their group', async () => {
    const labels = { app: 'other' };
    const { template } = workload('refused').spec;
    expectInvalid(
      await client.post(
        pathOf(resource),
        workload('refused', { template: { ...template, metadata: { labels } } }),
      ),
      `${kind}.apps`,
      'refused',
      'spec.template.metadata.labels',
      'Invalid value: {"app":"other"}: `selector` does not match template `labels`',
    );
    expectFailure(await client.get(path('gone')), 404, 'NotFound', `${resource}.apps "gone" not found`, {
      name: 'gone',
      group: 'apps',
      kind: resource,
    });
  });

  it('take what they own with them', async () => {
    const { metadata } = await make(resource, workload('owner'));
    const owner = { apiVersion: 'apps/v1', kind, name: 'owner', uid: metadata.uid, controller: true };
    const secrets = '/api/v1/namespaces/default/secrets';
    await created(client, secrets, { metadata: { name: `owned-${resource}`, ownerReferences: [owner] } });
    await client.delete(path('owner'));
    await expect.poll(async () => (await client.get(`${secrets}/owned-${resource}`)).status).toBe(404);
  });

  it('count towards a quota, and go with their namespace', async () => {
    const namespace = `counted-${resource}`;
    await created(client, '/api/v1/namespaces', { metadata: { name: namespace } });
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
    const name = `count/${resource}.apps`;
    await created(client, quotas, { metadata: { name: 'q' }, spec: { hard: { [name]: '1' } } });
    await expect.poll(async () => (await client.get(`${quotas}/q`)).body.status.used?.[name]).toBe('0');
    const all = pathOf(resource, '', namespace);
    await created(client, all, workload('one'));
    expect((await client.post(all, workload('two'))).body.message).toContain(
      `exceeded quota: q, requested: ${name}=1`,
    );
    await client.delete(`/api/v1/namespaces/${namespace}`);
    await expect.poll(async () => (await client.get(`/api/v1/namespaces/${namespace}`)).status).toBe(404);
    expect(
      (await client.get(`/apis/apps/v1/${resource}?fieldSelector=metadata.namespace%3D${namespace}`)).body
        .items,
    ).toEqual([]);
  });
});

describe.each(['deployments', 'replicasets', 'statefulsets'])('the scale of %s', (resource) => {
  const path = pathOf(resource, 'scaled');

  it('has the selector as text', async () => {
    const matchExpressions = [{ key: 'app', operator: 'In', values: ['scaled', 'other'] }];
    const spec = { replicas: 2, selector: { matchLabels: { app: 'scaled' }, matchExpressions } };
    const { metadata } = await make(resource, workload('scaled', spec));
    await client.patch(`${path}/status`, { status: { replicas: 1 } });
    const { name, namespace, uid, creationTimestamp } = metadata;
    expect((await client.get(`${path}/scale`)).body).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: {
        name,
        namespace,
        selfLink: `${path}/scale`,
        uid,
        creationTimestamp,
        resourceVersion: expect.any(String),
      },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=scaled,app in (other,scaled)' },
    });
  });

  it('changes the replicas and nothing else', async () => {
    const reply = await client.patch(`${path}/scale`, { spec: { replicas: 5 }, status: { replicas: 9 } });
    expect([reply.body.kind, reply.body.spec.replicas]).toEqual(['Scale', 5]);
    const { metadata, spec, status } = (await client.get(path)).body;
    expect([metadata.generation, spec.replicas, status.replicas]).toEqual([2, 5, 1]);
  });

  it('is refused below zero, and without what it scales', async () => {
    expectInvalid(
      await client.patch(`${path}/scale`, { spec: { replicas: -1 } }),
      'Scale.autoscaling',
      'scaled',
      'spec.replicas',
      'Invalid value: -1: must be greater than or equal to 0',
    );
    const missing = await client.get(`${pathOf(resource, 'gone')}/scale`);
    expect(missing.body.message).toBe(`${resource}.apps "gone" not found`);
  });
});

it('there is no scale of what has no replicas', async () => {
  await make('daemonsets', workload('unscaled'));
  expect((await client.get(`${home}/daemonsets/unscaled/scale`)).status).toBe(404);
});

describe('deployments', () => {
  it('have a new generation with new annotations, too', async () => {
    await make('deployments', workload('noted'));
    const { body } = await client.patch(`${home}/deployments/noted`, {
      metadata: { annotations: { x: 'y' } },
    });
    expect(body.metadata.generation).toBe(2);
  });

  it('keep no bounds when a strategic patch says what to retain', async () => {
    await make('deployments', workload('retained'));
    const strategy = { $retainKeys: ['type'], type: 'Recreate' };
    const { body } = await client.patch(
      `${home}/deployments/retained`,
      { spec: { strategy } },
      strategicPatch,
    );
    expect(body.spec.strategy).toEqual({ type: 'Recreate' });
  });
});

it('a stateful set says what may be changed', async () => {
  await make('statefulsets', workload('settled'));
  expectInvalid(
    await client.patch(`${home}/statefulsets/settled`, { spec: { serviceName: 'settled' } }),
    'StatefulSet.apps',
    'settled',
    'spec',
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  );
});

it('replica sets are not selected by their status', async () => {
  const reply = await client.get(`${home}/replicasets?fieldSelector=status.replicas%3D0`);
  expect(reply.body.message).toContain(
    '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
  );
});
