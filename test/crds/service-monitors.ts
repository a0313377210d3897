/** Service monitors: which services a collector of figures asks, and how it treats what it gets. */
import { labelSelector, oauth, objectRef, secretKey, status, tlsClient } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  flag,
  keyed,
  list,
  type MadeUpKind,
  rule,
  ruled,
  type Schema,
  share,
  span,
  text,
  without,
} from './schema-words.ts';

const actions = [
  'replace',
  'keep',
  'drop',
  'hashmod',
  'labelmap',
  'labeldrop',
  'labelkeep',
  'lowercase',
  'uppercase',
  'keepequal',
  'dropequal',
] as const;

const relabelings = (description: string): Schema =>
  list(
    description,
    ruled(
      fields('A change.', {
        action: choice('What is done.', actions, { default: 'replace' }),
        sourceLabels: list(
          'Labels that are read.',
          { type: 'string', pattern: '^[a-zA-Z_"].*$', maxLength: 256 },
          { maxItems: 32 },
        ),
        separator: text('Between them.'),
        regex: text('What must match.', { maxLength: 4096 }),
        replacement: text('What is written.'),
        targetLabel: text('The label that is written.', { maxLength: 256 }),
        modulus: { type: 'integer', format: 'int64', minimum: 1, description: 'For hashes.' },
      }),
      rule("self.action != 'hashmod' || has(self.modulus)", 'hashmod needs a modulus'),
    ),
    { maxItems: 64 },
  );

const endpoint = ruled(
  fields('A place to ask.', {
    port: text('The port of the service, by name.', { maxLength: 63 }),
    targetPort: share('The port of the pod.'),
    path: text('The path.', { default: '/metrics', maxLength: 1024 }),
    scheme: choice('Plain or over TLS.', ['http', 'https'], { default: 'http' }),
    params: entries('Parameters.', list('Values.', { type: 'string' })),
    interval: span('Time between two requests.'),
    scrapeTimeout: span('Time to wait.'),
    honorLabels: flag('Labels of the answer win.'),
    honorTimestamps: flag('Times of the answer count.', { default: true }),
    trackTimestampsStaleness: flag('Notice when they stop.'),
    tlsConfig: tlsClient('How it is reached.'),
    bearerTokenFile: text('A file with a token.'),
    bearerTokenSecret: secretKey('A token.'),
    authorization: fields('Who we are.', {
      type: text('How.', { default: 'Bearer' }),
      credentials: secretKey('The proof.'),
    }),
    basicAuth: fields('Name and password.', {
      username: secretKey('The name.'),
      password: secretKey('The password.'),
    }),
    oauth2: oauth('Tokens.'),
    followRedirects: flag('Go where one is sent.', { default: true }),
    enableHttp2: flag('Speak HTTP/2.'),
    proxyUrl: text('The proxy to go through.', { pattern: '^(http|https|socks5)://.+$' }),
    noProxy: text('Hosts without it.'),
    proxyFromEnvironment: flag('The proxy of the machine.'),
    filterRunning: flag('Only running pods.', { default: true }),
    metricRelabelings: relabelings('Changes of what comes.'),
    relabelings: relabelings('Changes of what is asked.'),
  }),
  rule('!(has(self.basicAuth) && has(self.oauth2))', 'basicAuth and oauth2 exclude each other'),
  rule('has(self.port) || has(self.targetPort)', 'a port must be given'),
);

const limits = {
  sampleLimit: count('Figures of one answer.'),
  targetLimit: count('Places to ask.'),
  labelLimit: count('Labels of a figure.'),
  labelNameLengthLimit: count('Letters of their names.'),
  labelValueLengthLimit: count('Letters of their values.'),
  keepDroppedTargets: count('Places that are remembered.'),
  nativeHistogramBucketLimit: count('Parts of a histogram.'),
};

const spec = fields(
  'What is asked.',
  {
    jobLabel: text('The label that names the job.'),
    targetLabels: list('Labels of services that figures get.', { type: 'string' }),
    podTargetLabels: list('Labels of pods that figures get.', { type: 'string' }),
    endpoints: list('Places to ask.', endpoint, { minItems: 1, maxItems: 50 }),
    selector: labelSelector('Services that are meant.'),
    selectorMechanism: choice('How they are found.', ['RelabelConfig', 'RoleSelector']),
    namespaceSelector: fields('Where they are.', {
      any: flag('Everywhere.'),
      matchNames: list('In these namespaces.', { type: 'string' }, { 'x-kubernetes-list-type': 'set' }),
    }),
    ...limits,
    scrapeProtocols: list(
      'What is spoken.',
      {
        type: 'string',
        enum: [
          'PrometheusProto',
          'OpenMetricsText0.0.1',
          'OpenMetricsText1.0.0',
          'PrometheusText0.0.4',
          'PrometheusText1.0.0',
        ],
      },
      { 'x-kubernetes-list-type': 'set' },
    ),
    fallbackScrapeProtocol: choice('If the answer does not say.', [
      'PrometheusProto',
      'OpenMetricsText1.0.0',
      'PrometheusText0.0.4',
    ]),
    scrapeClass: text('Settings for many.', { minLength: 1 }),
    bodySizeLimit: text('Bytes of an answer.', { pattern: '(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$' }),
    convertClassicHistogramsToNHCB: flag('Make newer histograms.'),
    attachMetadata: fields('More labels.', { node: flag('Of the node.', { default: false }) }),
    serviceDiscoveryRole: choice('What is looked at.', ['Endpoints', 'EndpointSlice'], {
      default: 'Endpoints',
    }),
    owner: objectRef('Who set this up.'),
  },
  ['endpoints', 'selector'],
);

const found = status({
  bindings: keyed(
    'Collectors that use it.',
    ['group', 'resource', 'name', 'namespace'],
    fields(
      'A collector.',
      {
        group: text('Its group.', { enum: ['monitoring.example.com'] }),
        resource: choice('Its kind.', ['collectors', 'agents']),
        name: text('Its name.'),
        namespace: text('Where it is.'),
        conditions: list(
          'Aspects.',
          fields(
            'An aspect.',
            {
              type: text('Which.'),
              status: text('Whether.'),
              reason: text('Why.'),
              message: text('In a sentence.'),
            },
            ['status', 'type'],
          ),
        ),
      },
      ['group', 'name', 'namespace', 'resource'],
    ),
  ),
});

export const servicemonitors: MadeUpKind = {
  group: 'monitoring.example.com',
  kind: 'ServiceMonitor',
  plural: 'servicemonitors',
  shortNames: ['smon'],
  categories: ['monitoring'],
  versions: [
    {
      name: 'v1alpha1',
      spec: without(spec, 'scrapeProtocols', 'fallbackScrapeProtocol', 'scrapeClass', 'serviceDiscoveryRole'),
      status: found,
    },
    { name: 'v1', spec, status: found },
  ],
  sample: {
    selector: { matchLabels: { app: 'web' } },
    endpoints: [
      { port: 'metrics', interval: '30s', relabelings: [{ sourceLabels: ['a'], targetLabel: 'b' }] },
      { targetPort: 9090 },
    ],
    namespaceSelector: { matchNames: ['a', 'b'] },
  },
  defaults: {
    '/spec/endpoints/0/path': '/metrics',
    '/spec/endpoints/0/relabelings/0/action': 'replace',
    '/spec/endpoints/1/followRedirects': true,
    '/spec/endpoints/1/targetPort': 9090,
    '/spec/serviceDiscoveryRole': 'Endpoints',
  },
  breaks: [
    {
      spec: {
        endpoints: [
          { port: 'a', basicAuth: {}, oauth2: { clientId: {}, clientSecret: { key: 'k' }, tokenUrl: 'x' } },
        ],
      },
      causes: [['spec.endpoints[0]', 'basicAuth and oauth2 exclude each other']],
    },
    { spec: { endpoints: [{}] }, causes: [['spec.endpoints[0]', 'a port must be given']] },
    {
      spec: { namespaceSelector: { matchNames: ['a', 'a'] } },
      causes: [['spec.namespaceSelector.matchNames[1]', 'Duplicate value: "a"']],
    },
    {
      spec: { endpoints: [{ port: 'a', relabelings: [{ action: 'hashmod' }] }] },
      causes: [['spec.endpoints[0].relabelings[0]', 'hashmod needs a modulus']],
    },
    {
      spec: { sampleLimit: 3_000_000_000 },
      causes: [['<nil>', 'Checked value must be of type integer with format int32 in spec.sampleLimit']],
    },
    {
      spec: { selector: 5 },
      causes: [
        ['spec.selector', 'must be of type object: "integer"'],
        ['<nil>', 'some validation rules'],
      ],
    },
  ],
  older: { selector: {}, endpoints: [{ targetPort: 'web' }] },
  migrated: { '/spec/endpoints/0/targetPort': 'web', '/spec/serviceDiscoveryRole': 'Endpoints' },
  explained: {
    'spec.endpoints.tlsConfig.insecureSkipVerify': 'Take any certificate',
    'spec.endpoints.oauth2.tokenUrl': 'Where tokens',
  },
};
