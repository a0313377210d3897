/** Proves that every write of a controller has the user that Kubernetes gives to that controller. */
import { beforeEach, expect, it, vi } from 'vitest';
import type { Event } from '../api/generated/types.ts';
import type { ApiObject } from '../api/text/object.ts';
import { asTester } from '../registry/request.fixture.ts';
import type { Request } from '../registry/request.ts';
import { collectionOf, targetOf } from '../registry/target.ts';
import { create } from '../registry/verbs/create.ts';
import { remove } from '../registry/verbs/delete.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

/** The writes and their users: `user resource part`, each once; for events `user events component`. */
let written: Set<string>;

beforeEach(() => {
  written = new Set();
  const userOf = (request: Request): string =>
    request.user.name.replace('system:serviceaccount:kube-system:', '');
  const encode = harness.registry.encode.bind(harness.registry);
  vi.spyOn(harness.registry, 'encode').mockImplementation((request, target, object, current) => {
    const { resource } = target.kind;
    const { source, reportingComponent } = object as Event;
    const how = resource === 'events' ? source?.component || reportingComponent : target.part;
    written.add(`${userOf(request)} ${resource} ${how}`);
    return encode(request, target, object, current);
  });
  // What is removed is not encoded.
  const commit = harness.registry.commit.bind(harness.registry);
  vi.spyOn(harness.registry, 'commit').mockImplementation((request, place, value, ...rest) => {
    const writer = `${userOf(request as Request)} ${place.kind.resource}`;
    const isKnown = [...written].some((one) => one.startsWith(`${writer} `));
    if (value === null && !isKnown) written.add(`${writer} main`);
    return commit(request, place, value, ...rest);
  });
});

const kindOf = (apiVersion: string, resource: string) =>
  harness.registry.kinds.resource(apiVersion, resource)!;

async function make(apiVersion: string, resource: string, object: object, namespace = ''): Promise<void> {
  const collection = collectionOf(kindOf(apiVersion, resource), namespace);
  await create(harness.writing, asTester('create'), collection, object as ApiObject);
}

const podSpec = { containers: [{ name: 'c', image: 'i' }] };
const selector = { matchLabels: { app: 'web' } };
const template = { metadata: { labels: { app: 'web' } }, spec: podSpec };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumeSpec = {
  accessModes: ['ReadWriteOnce'],
  capacity: { storage: '1Gi' },
  hostPath: { path: '/nowhere' },
};

it('each writes in its own name', async () => {
  await harness.seed('v1', 'nodes', '', {
    metadata: { name: 'n' },
    status: {
      allocatable: { cpu: '8', memory: '8Gi', pods: '100' },
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DiskPressure', status: 'True' },
      ],
    },
  });
  const replicas = 1;
  for (const [apiVersion, resource, spec] of [
    ['v1', 'services', { selector: { app: 'web' }, ports: [{ port: 80 }] }],
    ['v1', 'replicationcontrollers', { replicas, template }],
    ['apps/v1', 'deployments', { replicas, selector, template }],
    ['apps/v1', 'daemonsets', { selector, template }],
    ['apps/v1', 'statefulsets', { replicas, serviceName: 's', selector, template }],
    ['batch/v1', 'jobs', { template: { spec: { ...podSpec, restartPolicy: 'Never' } } }],
    ['v1', 'persistentvolumeclaims', claimSpec],
    ['v1', 'resourcequotas', { hard: { pods: '100' } }],
    ['policy/v1', 'poddisruptionbudgets', { minAvailable: 1, selector }],
  ] as const)
    await make(apiVersion, resource, { metadata: { name: 'one' }, spec }, 'default');
  await make('v1', 'persistentvolumes', { metadata: { name: 'v' }, spec: volumeSpec });
  await make(
    'v1',
    'secrets',
    {
      metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    },
    'default',
  );
  written.clear();
  harness.start(['*']);
  await harness.settled();
  expect([...written]).toEqual(
    expect.arrayContaining([
      'daemon-set-controller controllerrevisions main',
      'daemon-set-controller daemonsets status',
      'daemon-set-controller pods main',
      'daemon-set-controller events daemonset-controller',
      'deployment-controller deployments status',
      'deployment-controller replicasets main',
      'deployment-controller events deployment-controller',
      'disruption-controller poddisruptionbudgets status',
      'endpoint-controller endpoints main',
      'job-controller jobs status',
      'job-controller pods main',
      'job-controller events job-controller',
      'node-controller nodes main',
      'node-controller events node-controller',
      'persistent-volume-binder persistentvolumeclaims main',
      'persistent-volume-binder persistentvolumes status',
      'replicaset-controller pods main',
      'replicaset-controller replicasets status',
      'replicaset-controller events replicaset-controller',
      'replication-controller pods main',
      'replication-controller replicationcontrollers status',
      'replication-controller events replication-controller',
      'resourcequota-controller resourcequotas status',
      'service-account-controller serviceaccounts main',
      'statefulset-controller controllerrevisions main',
      'statefulset-controller pods main',
      'statefulset-controller statefulsets status',
      'statefulset-controller events statefulset-controller',
      'system:apiserver resourcequotas status',
      'system:kube-controller-manager secrets main',
      'system:kube-scheduler pods whole',
      'system:kube-scheduler events default-scheduler',
    ]),
  );
  expect([...written].filter((one) => one.startsWith('tester'))).toEqual([]);
});

it('what is deleted is let go in the name of those who kept it', async () => {
  await make('v1', 'namespaces', { metadata: { name: 'ns' } });
  await make('v1', 'configmaps', { metadata: { name: 'm' } }, 'ns');
  await make('v1', 'persistentvolumeclaims', { metadata: { name: 'c' }, spec: claimSpec }, 'default');
  await make('v1', 'persistentvolumes', { metadata: { name: 'v' }, spec: volumeSpec });
  await make(
    'batch/v1',
    'jobs',
    { metadata: { name: 'j' }, spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } },
    'default',
  );
  for (const [apiVersion, resource, namespace, name] of [
    ['v1', 'namespaces', '', 'ns'],
    ['v1', 'persistentvolumeclaims', 'default', 'c'],
    ['v1', 'persistentvolumes', '', 'v'],
    ['batch/v1', 'jobs', 'default', 'j'],
  ] as const) {
    const target = targetOf({ kind: kindOf(apiVersion, resource), namespace, name });
    const propagationPolicy = resource === 'jobs' ? 'Foreground' : undefined;
    await remove(harness.writing, asTester('delete'), target, { propagationPolicy });
  }
  written.clear();
  harness.start(['*']);
  await harness.settled();
  expect([...written].sort()).toEqual([
    'generic-garbage-collector jobs whole',
    'namespace-controller configmaps main',
    'namespace-controller namespaces finalize',
    'namespace-controller namespaces status',
    'pv-protection-controller persistentvolumes whole',
    'pvc-protection-controller persistentvolumeclaims whole',
    'service-account-controller serviceaccounts main',
  ]);
});
