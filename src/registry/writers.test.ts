/** Proves that internal writers are users to whom the default roles of Kubernetes are bound. */
import { expect, it } from 'vitest';
import { actingAs, type WriterName } from './writers.ts';

/** Service accounts in kube-system to which Kubernetes 1.36 binds a role `system:controller:…` of the same name. */
const boundAccounts = new Set([
  'attachdetach-controller',
  'bootstrap-signer',
  'certificate-controller',
  'cloud-provider',
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemon-set-controller',
  'deployment-controller',
  'device-taint-eviction-controller',
  'disruption-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'endpointslicemirroring-controller',
  'ephemeral-volume-controller',
  'expand-controller',
  'generic-garbage-collector',
  'horizontal-pod-autoscaler',
  'job-controller',
  'legacy-service-account-token-cleaner',
  'namespace-controller',
  'node-controller',
  'persistent-volume-binder',
  'pod-garbage-collector',
  'pv-protection-controller',
  'pvc-protection-controller',
  'replicaset-controller',
  'replication-controller',
  'resource-claim-controller',
  'resourcequota-controller',
  'root-ca-cert-publisher',
  'route-controller',
  'selinux-warning-controller',
  'service-account-controller',
  'service-cidrs-controller',
  'service-controller',
  'statefulset-controller',
  'token-cleaner',
  'ttl-after-finished-controller',
  'ttl-controller',
  'validatingadmissionpolicy-status-controller',
  'volumeattributesclass-protection-controller',
]);

/** Users and groups to which other default roles are bound. */
const boundUsers = new Set(['system:kube-controller-manager', 'system:kube-scheduler']);
const boundGroups = new Set(['system:masters']);

/** The field manager of each writer; a missing one does not compile. */
const programs: Record<WriterName, string> = {
  'kube-apiserver': 'kube-apiserver',
  'kube-controller-manager': 'kube-controller-manager',
  'kube-scheduler': 'kube-scheduler',
  'certificate-controller': 'kube-controller-manager',
  'bootstrap-signer': 'kube-controller-manager',
  'clusterrole-aggregation-controller': 'kube-controller-manager',
  'cronjob-controller': 'kube-controller-manager',
  'daemon-set-controller': 'kube-controller-manager',
  'deployment-controller': 'kube-controller-manager',
  'disruption-controller': 'kube-controller-manager',
  'endpoint-controller': 'kube-controller-manager',
  'ephemeral-volume-controller': 'kube-controller-manager',
  'expand-controller': 'kube-controller-manager',
  'generic-garbage-collector': 'kube-controller-manager',
  'horizontal-pod-autoscaler': 'kube-controller-manager',
  'job-controller': 'kube-controller-manager',
  'namespace-controller': 'kube-controller-manager',
  'node-controller': 'kube-controller-manager',
  'persistent-volume-binder': 'kube-controller-manager',
  'pod-garbage-collector': 'kube-controller-manager',
  'pv-protection-controller': 'kube-controller-manager',
  'pvc-protection-controller': 'kube-controller-manager',
  'replicaset-controller': 'kube-controller-manager',
  'replication-controller': 'kube-controller-manager',
  'resourcequota-controller': 'kube-controller-manager',
  'root-ca-cert-publisher': 'kube-controller-manager',
  'service-account-controller': 'kube-controller-manager',
  'statefulset-controller': 'kube-controller-manager',
  'token-cleaner': 'kube-controller-manager',
  'ttl-after-finished-controller': 'kube-controller-manager',
  'volumeattributesclass-protection-controller': 'kube-controller-manager',
};

const accountPrefix = 'system:serviceaccount:kube-system:';

it.each(Object.entries(programs) as [WriterName, string][])('%s writes as %s', (writer, program) => {
  const request = actingAs(writer, 'update');
  const { name, groups } = request.user;
  expect(request).toMatchObject({ verb: 'update', fieldManager: program, dryRun: false });
  expect(request.deadlineMs).toBeUndefined();
  expect(groups).toContain('system:authenticated');
  if (name.startsWith(accountPrefix)) {
    expect(name).toBe(accountPrefix + writer);
    expect(boundAccounts).toContain(writer);
    expect(groups).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:kube-system',
      'system:authenticated',
    ]);
    expect(request.userAgent).toMatch(new RegExp(`^kube-controller-manager/v1\\S* ${name}$`));
  } else {
    expect(boundUsers.has(name) || groups.some((group) => boundGroups.has(group))).toBe(true);
    expect(request.userAgent).toMatch(new RegExp(`^${program}/v1\\S*$`));
  }
});

it('no two requests share their warnings', () => {
  const [one, other] = [actingAs('kube-apiserver', 'create'), actingAs('kube-apiserver', 'create')];
  one!.warnings.push('a text');
  expect(other!.warnings).toEqual([]);
});
