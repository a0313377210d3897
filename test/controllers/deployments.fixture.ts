/** Helpers for tests of deployments: a namespace per test, mirrors of it, and a deployment to create and change. */
import { afterEach, beforeEach, expect } from 'vitest';
import { type Client, type Json, useCluster } from '../support/http.ts';
import { Mirror } from './mirror.ts';

export let api: Client;
export const revisionKey = 'deployment.kubernetes.io/revision';
let namespace = '';
let count = 0;
const opened: Mirror[] = [];

const groups: Record<string, string> = { replicasets: '/apis/apps/v1', deployments: '/apis/apps/v1' };
export const path = (resource: string, name = '') =>
  `${groups[resource] ?? '/api/v1'}/namespaces/${namespace}/${resource}${name && `/${name}`}`;

/** A cluster for the tests of a file, and a namespace in it for each of them. */
export function useDeployments(): void {
  api = useCluster({ simulatedNodes: 2 });
  beforeEach(async () => {
    namespace = `rollouts-${++count}`;
    expect((await api.post('/api/v1/namespaces', { metadata: { name: namespace } })).status).toBe(200);
  });
  afterEach(() => {
    for (const mirror of opened.splice(0)) mirror.close();
  });
}

export async function mirror(resource: string): Promise<Mirror> {
  const made = await Mirror.open(api, path(resource));
  opened.push(made);
  return made;
}

export const template = (image = 'i:1', spec: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }], ...spec },
});
/** Pods of this template run but never become ready: their readiness gate's condition is never set. */
export const broken = { readinessGates: [{ conditionType: 'example.com/never' }] };

export const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
});

export const manifest = (replicas: number, spec: object = {}): Json => ({
  metadata: { name: 'web' },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
});

/** Creates a deployment and waits until its rollout is complete. */
export async function deployed(replicas: number, spec: object = {}): Promise<Json> {
  const reply = await api.post(path('deployments'), manifest(replicas, spec));
  expect(reply.status, reply.text).toBe(200);
  return (await mirror('deployments')).object('web', isComplete);
}

export async function change(spec: object): Promise<Json> {
  const reply = await api.patch(path('deployments', 'web'), { spec });
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

export const condition = ({ status }: Json, type: string): Json =>
  status.conditions?.find((one: Json) => one.type === type);
export const progress = (deployment: Json): string | undefined =>
  condition(deployment, 'Progressing')?.reason;

export const isComplete = ({ metadata, spec, status }: Json): boolean =>
  status.observedGeneration === metadata.generation &&
  progress({ status }) === 'NewReplicaSetAvailable' &&
  [status.replicas, status.updatedReplicas, status.availableReplicas].every(
    (number) => (number ?? 0) === spec.replicas,
  );

export const isAlive = ({ metadata }: Json): boolean => !metadata.deletionTimestamp;
export const isReady = ({ status }: Json): boolean =>
  status.conditions?.some((one: Json) => one.type === 'Ready' && one.status === 'True') ?? false;
export const imageOf = ({ spec }: Json): string => (spec.template?.spec ?? spec).containers[0].image;
export const revisionOf = ({ metadata }: Json): string => metadata.annotations?.[revisionKey];

export const setsNow = async (): Promise<Json[]> => (await api.get(path('replicasets'))).body.items;
export const messages = (events: Json[]): string[] =>
  events.filter(({ reason }) => reason === 'ScalingReplicaSet').map(({ message }) => message);
