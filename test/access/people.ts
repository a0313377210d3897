/**
 * A cluster with a node and a secure door, for tests of real clients: alice may edit the namespace `default`, eve may do
 * nothing. Each has a certificate and a token.
 */
import { beforeAll, expect, vi } from 'vitest';
import type { Cluster } from '../../src/cluster/index.ts';
import { portServer } from '../streams/port-server.ts';
import {
  podOf,
  podsPath,
  type RunningCluster,
  shell,
  useRunningCluster,
  withFolder,
} from '../streams/running.ts';

const people = [
  { name: 'alice', groups: ['developers'], token: 'token-of-alice' },
  { name: 'eve', groups: ['guests'], token: 'token-of-eve' },
] as const;
const developers = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'developers' };

export type Person = (typeof people)[number]['name'];
export const credentials = ['certificate', 'token'] as const;
export type Credential = (typeof credentials)[number];

/** A kubeconfig with one credential of a person. */
export function kubeconfigOf(cluster: Cluster, person: Person, by: Credential): string {
  const text = cluster.kubeconfigFor(person);
  if (by === 'certificate') return text;
  const config = JSON.parse(text);
  config.users[0].user = { token: people.find(({ name }) => name === person)!.token };
  return JSON.stringify(config);
}

/**
 * The cluster, with the pods `teller`, which writes a line to its log every 100 ms, and `server`, which has a TCP server of
 * `port-server.ts`.
 */
export function useSharedCluster(): { cluster: RunningCluster; port(): number } {
  const cluster = useRunningCluster({ secure: true, users: people });
  let port = 0;
  beforeAll(async () => {
    const { client } = cluster;
    const bound = await client.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'developers' },
      subjects: [developers],
      roleRef: { apiGroup: developers.apiGroup, kind: 'ClusterRole', name: 'edit' },
    });
    expect(bound.status, bound.text).toBe(200);
    const told = 'i=0; while true; do echo line $i; i=$((i+1)); sleep 0.1; done';
    await Promise.all([
      cluster.run(withFolder(cluster.folder, podOf('teller', shell(told)))),
      cluster.run(podOf('server', portServer())),
    ]);
    const log = await client.get(`${podsPath}/server/log?follow=true&limitBytes=10`);
    port = Number(/^port (\d+)/.exec(log.text)![1]);
    // The role gets its rules from others, by a controller.
    await vi.waitUntil(() => mayExec(cluster), { timeout: 60_000 });
  });
  return { cluster, port: () => port };
}

async function mayExec({ client }: RunningCluster): Promise<boolean> {
  const resourceAttributes = {
    verb: 'create',
    resource: 'pods',
    subresource: 'exec',
    namespace: 'default',
  };
  const { body } = await client.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user: 'alice', groups: ['developers'], resourceAttributes },
  });
  return body.status.allowed;
}
