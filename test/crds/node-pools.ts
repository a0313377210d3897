/** Node pools: machines that come when pods need them, and go when they do not. */
import { nameRef, status } from './schema-parts.ts';
import {
  amount,
  choice,
  count,
  entries,
  fields,
  flag,
  list,
  type MadeUpKind,
  name,
  plus,
  rule,
  ruled,
  type Schema,
  set,
  span,
  text,
  whole,
  without,
} from './schema-words.ts';

const taint = fields(
  'A taint.',
  {
    key: text('Its key.', {
      minLength: 1,
      maxLength: 316,
      pattern: '^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?/)?[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$',
    }),
    value: text('Its value.', { maxLength: 63 }),
    effect: choice('What it does.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
    timeAdded: text('Since when.', { format: 'date-time' }),
  },
  ['effect', 'key'],
);

const requirement = ruled(
  fields(
    'What machines must be.',
    {
      key: text('A label.', { maxLength: 316 }),
      operator: choice('How it is compared.', ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
      values: list(
        'With what.',
        { type: 'string', maxLength: 63 },
        { maxItems: 50, 'x-kubernetes-list-type': 'atomic' },
      ),
      minValues: whole('How many kinds there must be.', { minimum: 1, maximum: 50 }),
    },
    ['key', 'operator'],
  ),
  rule("self.operator == 'In' ? has(self.values) && self.values.size() > 0 : true", 'In needs values'),
  rule(
    "self.operator in ['Gt', 'Lt'] ? has(self.values) && self.values.size() == 1 : true",
    'Gt and Lt need one value',
  ),
);

const kubelet = fields('Settings of the nodes.', {
  maxPods: count('Pods of a node.'),
  podsPerCore: count('Pods of a core.'),
  clusterDNS: list('Servers of names.', { type: 'string' }),
  systemReserved: entries(
    'Kept for the system.',
    { type: 'string', pattern: '^(\\+|-)?[0-9.]+([KMGTPE]i|[numkMGTPE])?$', maxLength: 32 },
    { maxProperties: 8 },
  ),
  kubeReserved: entries('Kept for the agent.', { type: 'string', maxLength: 32 }, { maxProperties: 8 }),
  evictionHard: entries(
    'When pods go at once.',
    {
      type: 'string',
      pattern: '^((\\d{1,2}(\\.\\d{1,2})?|100(\\.0{1,2})?)%||(\\d+([KMGTPE]i)?))$',
      maxLength: 32,
    },
    { maxProperties: 8 },
  ),
  evictionSoft: entries('When pods go soon.', { type: 'string', maxLength: 32 }, { maxProperties: 8 }),
  evictionSoftGracePeriod: entries('How soon.', { type: 'string', maxLength: 32 }, { maxProperties: 8 }),
  evictionMaxPodGracePeriod: count('Seconds to end in.'),
  imageGCHighThresholdPercent: whole('When images go.', { minimum: 0, maximum: 100 }),
  imageGCLowThresholdPercent: whole('Until when.', { minimum: 0, maximum: 100 }),
  cpuCFSQuota: flag('Whether limits of processors hold.'),
});

const devices = list(
  'Disks.',
  fields('A disk.', {
    deviceName: text('Its name.'),
    rootVolume: flag('The first.'),
    ebs: fields('What it is.', {
      size: text('How large.', {
        pattern:
          '^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G)$',
      }),
      type: choice('Which kind.', ['slow', 'fast', 'fastest']),
      iops: count('Requests a second.'),
      throughput: count('Megabytes a second.'),
      encrypted: flag('Hidden.'),
      keyID: text('With which key.'),
      snapshot: text('What is on it.'),
      deleteOnTermination: flag('Goes with the machine.'),
    }),
  }),
  { maxItems: 50 },
);

const template: Schema = fields(
  'What nodes are.',
  {
    metadata: fields('Metadata of nodes.', {
      labels: ruled(
        entries('Labels.', { type: 'string', maxLength: 63 }, { maxProperties: 100 }),
        rule("self.all(k, k != 'scaling.example.com/pool')", 'the label of the pool is set by the pool'),
      ),
      annotations: entries('Annotations.'),
    }),
    spec: fields(
      'The rest.',
      {
        taints: list('Taints.', taint, { maxItems: 50 }),
        startupTaints: list('Taints at first.', taint, { maxItems: 50 }),
        requirements: list('What machines must be.', requirement, { maxItems: 100 }),
        nodeClassRef: ruled(
          fields(
            'More about the machines.',
            {
              group: text('Its group.', { pattern: '^[^/]*$', maxLength: 253 }),
              kind: text('Its kind.', { maxLength: 63 }),
              name: name('Its name.'),
            },
            ['group', 'kind', 'name'],
          ),
          rule(
            'self.group != "" && self.kind != "" && self.name != ""',
            'group, kind and name must not be empty',
          ),
          rule('self.group == oldSelf.group', 'group cannot be changed'),
        ),
        expireAfter: text('How long nodes live.', {
          default: '720h',
          pattern: '^(([0-9]+(s|m|h))+|Never)$',
          maxLength: 32,
        }),
        terminationGracePeriod: span('Time to end in.'),
        kubelet,
        devices,
      },
      ['nodeClassRef', 'requirements'],
    ),
  },
  ['spec'],
);

const budget = ruled(
  fields(
    'How many may go at once.',
    {
      nodes: text('A number, or percent.', {
        default: '10%',
        pattern: '^((100|[0-9]{1,2})%|[0-9]+)$',
        maxLength: 10,
      }),
      schedule: text('When, as of cron.', {
        pattern:
          '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$',
        maxLength: 100,
      }),
      duration: span('For how long.'),
      reasons: set('Why.', { type: 'string', enum: ['Underutilized', 'Empty', 'Drifted'] }, { maxItems: 50 }),
    },
    ['nodes'],
  ),
  rule('has(self.schedule) == has(self.duration)', 'schedule and duration go together'),
);

const spec = fields(
  'What the pool is to be.',
  {
    template,
    disruption: fields(
      'When nodes go.',
      {
        consolidationPolicy: choice('Which nodes.', ['WhenEmpty', 'WhenEmptyOrUnderutilized'], {
          default: 'WhenEmptyOrUnderutilized',
        }),
        consolidateAfter: text('After how long.', {
          default: '0s',
          pattern: '^(([0-9]+(s|m|h))+|Never)$',
          maxLength: 32,
        }),
        budgets: list('How many at once.', budget, { maxItems: 50, default: [{ nodes: '10%' }] }),
      },
      [],
      { default: { consolidateAfter: '0s' } },
    ),
    limits: entries('The most of everything.', amount('An amount.')),
    weight: whole('Which pool is asked first.', { minimum: 1, maximum: 100 }),
    replicas: { type: 'integer', format: 'int64', minimum: 0, description: 'A fixed number of nodes.' },
    owner: nameRef('Who pays.'),
  },
  ['template'],
);

const found = status({
  nodes: count('Nodes.', { default: 0 }),
  resources: entries('What they have.', amount('An amount.')),
  nodeClassObservedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'The machines that were looked at.',
  },
});

const older = plus(without(spec, 'replicas', 'owner'), {
  ttlSecondsUntilExpired: { type: 'integer', format: 'int64', description: 'How long nodes live.' },
});

export const nodepools: MadeUpKind = {
  group: 'scaling.example.com',
  kind: 'NodePool',
  plural: 'nodepools',
  scope: 'Cluster',
  categories: ['scaling'],
  versions: [
    { name: 'v1alpha5', spec: older, status: found, deprecated: true },
    { name: 'v1beta1', spec: without(spec, 'replicas'), status: found },
    {
      name: 'v1',
      spec,
      status: found,
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes' },
      columns: [
        { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes' },
        { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
      ],
      root: {
        'x-kubernetes-validations': [
          { rule: "self.metadata.name != 'default-pool'", message: 'the name default-pool is taken' },
        ],
      },
    },
  ],
  sample: {
    template: {
      spec: {
        nodeClassRef: { group: 'g', kind: 'K', name: 'n' },
        requirements: [{ key: 'arch', operator: 'In', values: ['amd64'] }],
      },
    },
    limits: { cpu: 1000, memory: '1Ti' },
  },
  defaults: {
    '/spec/template/spec/expireAfter': '720h',
    '/spec/disruption': {
      consolidateAfter: '0s',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [{ nodes: '10%' }],
    },
    '/spec/limits/cpu': 1000,
  },
  breaks: [
    {
      spec: { template: { spec: { requirements: [{ key: 'arch', operator: 'In' }] } } },
      causes: [['spec.template.spec.requirements[0]', 'In needs values']],
    },
    {
      spec: { disruption: { budgets: [{ nodes: '101%' }] } },
      causes: [['spec.disruption.budgets[0].nodes', 'should match']],
    },
    {
      spec: { disruption: { budgets: [{ nodes: '1', schedule: '@daily' }] } },
      causes: [['spec.disruption.budgets[0]', 'schedule and duration go together']],
    },
    {
      spec: { template: { metadata: { labels: { 'scaling.example.com/pool': 'x' } } } },
      causes: [['spec.template.metadata.labels', 'set by the pool']],
    },
    { spec: { weight: 0 }, causes: [['spec.weight', 'should be greater than or equal to 1']] },
    { spec: { limits: { cpu: 'many' } }, causes: [['spec.limits.cpu', 'should match']] },
  ],
  older: {
    template: { spec: { nodeClassRef: { group: 'g', kind: 'K', name: 'n' }, requirements: [] } },
    ttlSecondsUntilExpired: 60,
  },
  migrated: {
    '/spec/ttlSecondsUntilExpired': undefined,
    '/spec/disruption/consolidationPolicy': 'WhenEmptyOrUnderutilized',
  },
  explained: {
    'spec.template.spec.kubelet.evictionHard': 'at once',
    'spec.disruption.budgets.schedule': 'cron',
  },
};
