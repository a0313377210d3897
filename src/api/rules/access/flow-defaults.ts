/** The flow schemas and priority levels that every server with a secure door has, as kube-apiserver 1.36 has them. */
import type {
  FlowSchemaSpec,
  PriorityLevelConfigurationSpec,
  ResourcePolicyRule,
  SubjectV1 as Subject,
} from '../../generated/types.ts';

const group = (name: string): Subject => ({ kind: 'Group', group: { name } });
const user = (name: string): Subject => ({ kind: 'User', user: { name } });
const systemAccounts: Subject = {
  kind: 'ServiceAccount',
  serviceAccount: { namespace: 'kube-system', name: '*' },
};
const everybody = [group('system:unauthenticated'), group('system:authenticated')];

const everyResource = (apiGroups = ['*'], resources = ['*']): ResourcePolicyRule => ({
  verbs: ['*'],
  apiGroups,
  resources,
  clusterScope: true,
  namespaces: ['*'],
});
const leases = (verbs: string[]): ResourcePolicyRule => ({
  verbs,
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  namespaces: ['*'],
});
const everything = {
  resourceRules: [everyResource()],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};

type Method = 'ByUser' | 'ByNamespace';

const schema = (
  level: string,
  matchingPrecedence: number,
  method: Method | undefined,
  subjects: Subject[],
  rules: Omit<NonNullable<FlowSchemaSpec['rules']>[number], 'subjects'> = everything,
): FlowSchemaSpec => ({
  priorityLevelConfiguration: { name: level },
  matchingPrecedence,
  ...(method ? { distinguisherMethod: { type: method } } : {}),
  rules: [{ subjects, ...rules }],
});

/** By name, in the order in which they are tried. */
export const defaultSchemas: ReadonlyMap<string, FlowSchemaSpec> = new Map([
  ['exempt', schema('exempt', 1, undefined, [group('system:masters')])],
  [
    'probes',
    schema('exempt', 2, undefined, everybody, {
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
    }),
  ],
  [
    'system-leader-election',
    schema(
      'leader-election',
      100,
      'ByUser',
      [user('system:kube-controller-manager'), user('system:kube-scheduler'), systemAccounts],
      { resourceRules: [leases(['get', 'create', 'update'])] },
    ),
  ],
  [
    'system-node-high',
    schema('node-high', 400, 'ByUser', [group('system:nodes')], {
      resourceRules: [everyResource([''], ['nodes', 'nodes/status']), leases(['*'])],
    }),
  ],
  ['system-nodes', schema('system', 500, 'ByUser', [group('system:nodes')])],
  [
    'kube-controller-manager',
    schema('workload-high', 800, 'ByNamespace', [user('system:kube-controller-manager')]),
  ],
  ['kube-scheduler', schema('workload-high', 800, 'ByNamespace', [user('system:kube-scheduler')])],
  ['kube-system-service-accounts', schema('workload-high', 900, 'ByNamespace', [systemAccounts])],
  ['service-accounts', schema('workload-low', 9000, 'ByUser', [group('system:serviceaccounts')])],
  ['global-default', schema('global-default', 9900, 'ByUser', everybody)],
  ['catch-all', schema('catch-all', 10_000, 'ByUser', everybody)],
]);

const queueing = (
  nominalConcurrencyShares: number,
  lendablePercent: number,
  queues: number,
  handSize: number,
): PriorityLevelConfigurationSpec => ({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares,
    limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
    lendablePercent,
  },
});

export const defaultLevels: ReadonlyMap<string, PriorityLevelConfigurationSpec> = new Map([
  [
    'catch-all',
    {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 },
    },
  ],
  ['exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  ['global-default', queueing(20, 50, 128, 6)],
  ['leader-election', queueing(10, 0, 16, 4)],
  ['node-high', queueing(40, 25, 64, 6)],
  ['system', queueing(30, 33, 64, 6)],
  ['workload-high', queueing(40, 50, 128, 6)],
  ['workload-low', queueing(100, 90, 128, 6)],
]);

const fixedNames = ['exempt', 'catch-all'];

/** The mandatory schemas, which cannot be changed. */
export const fixedSchemas: ReadonlyMap<string, FlowSchemaSpec> = new Map(
  fixedNames.map((name) => [name, defaultSchemas.get(name)!]),
);
export const fixedLevels: ReadonlyMap<string, PriorityLevelConfigurationSpec> = new Map(
  fixedNames.map((name) => [name, defaultLevels.get(name)!]),
);
