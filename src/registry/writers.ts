/**
 * Internal writers: the parts of Wherry that write without an HTTP request, under the user names they have in
 * Kubernetes. Every controller has a service account, to which the default roles of a cluster are bound.
 */
import type { Verb } from '../api/kind/kind.ts';
import { userAgentOf } from '../api/values/release.ts';
import { authenticated, masters, type User } from '../api/values/user.ts';
import { Request } from './request.ts';

interface Writer {
  readonly user: User;
  readonly userAgent: string;
}

const component = (userName: string, program: string, ...groups: string[]): Writer => ({
  user: { name: userName, groups: [...groups, authenticated] },
  userAgent: userAgentOf(program),
});

const namespace = 'kube-system';
const accountGroups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticated];

const controller = (account: string): Writer => {
  const name = `system:serviceaccount:${namespace}:${account}`;
  return {
    user: { name, groups: accountGroups },
    userAgent: `${userAgentOf('kube-controller-manager')} ${name}`,
  };
};

/** Accounts in `kube-system`, one for each controller that has one in Kubernetes. */
const accounts = [
  'bootstrap-signer',
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemon-set-controller',
  'deployment-controller',
  'disruption-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'endpointslicemirroring-controller',
  'ephemeral-volume-controller',
  'expand-controller',
  'generic-garbage-collector',
  'horizontal-pod-autoscaler',
  'job-controller',
  'namespace-controller',
  'node-controller',
  'persistent-volume-binder',
  'pod-garbage-collector',
  'pv-protection-controller',
  'pvc-protection-controller',
  'replicaset-controller',
  'replication-controller',
  'resourcequota-controller',
  'root-ca-cert-publisher',
  'service-account-controller',
  'service-cidrs-controller',
  'statefulset-controller',
  'token-cleaner',
  'ttl-after-finished-controller',
  'volumeattributesclass-protection-controller',
] as const;

export type WriterName =
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | (typeof accounts)[number];

const writers = new Map<WriterName, Writer>([
  // The server itself: objects that it maintains whether or not controllers run.
  ['kube-apiserver', component('system:apiserver', 'kube-apiserver', masters)],
  // All controllers together, and controllers without an account of their own.
  ['kube-controller-manager', component('system:kube-controller-manager', 'kube-controller-manager')],
  ['kube-scheduler', component('system:kube-scheduler', 'kube-scheduler')],
  ...accounts.map((account) => [account, controller(account)] as const),
]);

/** A request of an internal writer. It has no deadline, and its warnings are not read. */
export function actingAs(writer: WriterName, verb: Verb): Request {
  const { user, userAgent } = writers.get(writer)!;
  return new Request({ user, verb, userAgent, internal: true });
}
