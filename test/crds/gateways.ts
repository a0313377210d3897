/** Gateways: where traffic comes in, on which ports, with which certificates. */
import { labelSelector, objectRef, status } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  keyed,
  list,
  type MadeUpKind,
  name,
  port,
  rule,
  ruled,
  type Schema,
  text,
  without,
} from './schema-words.ts';

const hostname = (description: string): Schema =>
  text(description, {
    minLength: 1,
    maxLength: 253,
    pattern: '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
  });

const certificateRef = fields(
  'A certificate.',
  {
    group: text('Its group.', { default: '', maxLength: 253 }),
    kind: text('Its kind.', { default: 'Secret', minLength: 1, maxLength: 63 }),
    name: name('Its name.'),
    namespace: text('Where it is.', { maxLength: 63 }),
  },
  ['name'],
);

const tls = ruled(
  fields('How connections are secured.', {
    mode: choice('Who ends TLS.', ['Terminate', 'Passthrough'], { default: 'Terminate' }),
    certificateRefs: list('Certificates to show.', certificateRef, {
      maxItems: 64,
      'x-kubernetes-list-type': 'atomic',
    }),
    frontendValidation: fields('What clients must show.', {
      caCertificateRefs: list('Who signs them.', certificateRef, {
        minItems: 1,
        maxItems: 8,
        'x-kubernetes-list-type': 'atomic',
      }),
      mode: choice('Whether they must.', ['AllowValidOnly', 'AllowInsecureFallback']),
    }),
    options: entries('For the implementation.', { type: 'string', maxLength: 4096 }, { maxProperties: 16 }),
  }),
  rule(
    "self.mode == 'Terminate' ? size(self.certificateRefs) > 0 || size(self.options) > 0 : true",
    'certificateRefs or options must be given when the gateway ends TLS',
  ),
);

const allowedRoutes = fields(
  'Routes that may attach.',
  {
    namespaces: fields(
      'From where.',
      {
        from: choice('Which namespaces.', ['All', 'Selector', 'Same', 'None'], { default: 'Same' }),
        selector: labelSelector('Those with these labels.'),
      },
      [],
      { default: { from: 'Same' } },
    ),
    kinds: list(
      'Of which kinds.',
      fields(
        'A kind.',
        { group: text('Its group.', { default: 'net.example.com' }), kind: text('Its name.') },
        ['kind'],
      ),
      { maxItems: 8, 'x-kubernetes-list-type': 'atomic' },
    ),
  },
  [],
  { default: { namespaces: { from: 'Same' } } },
);

const listener = fields(
  'Something to listen on.',
  {
    name: text('Its name.', { minLength: 1, maxLength: 253 }),
    hostname: hostname('The host that is meant; any when unset.'),
    port: port('The port.'),
    protocol: text('What is spoken.', {
      minLength: 1,
      maxLength: 255,
      pattern:
        '^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9]+$',
    }),
    tls,
    allowedRoutes,
  },
  ['name', 'port', 'protocol'],
);

const address = ruled(
  fields(
    'An address.',
    {
      type: text('What it is.', { default: 'IPAddress', minLength: 1, maxLength: 253 }),
      value: text('The address.', { maxLength: 253 }),
    },
    [],
    {
      oneOf: [
        {
          properties: {
            type: { enum: ['IPAddress'] },
            value: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
          },
        },
        { properties: { type: { not: { enum: ['IPAddress'] } } } },
      ],
    },
  ),
  rule("self.type == 'Hostname' ? self.value.size() > 0 : true", 'a host must have a name'),
);

const spec = fields(
  'What the gateway is to be.',
  {
    gatewayClassName: text('Who makes it.', { minLength: 1, maxLength: 253 }),
    listeners: ruled(
      keyed('What it listens on.', ['name'], listener, { minItems: 1, maxItems: 64 }),
      rule(
        "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
        'tls must not be given for protocols HTTP, TCP and UDP',
      ),
      rule(
        "self.all(l, l.protocol in ['TCP', 'UDP'] ? (!has(l.hostname) || l.hostname == '') : true)",
        'hostname must not be given for protocols TCP and UDP',
      ),
      rule('self.all(l1, self.exists_one(l2, l1.name == l2.name))', 'names of listeners must differ'),
    ),
    addresses: ruled(
      list('Addresses that it should have.', address, { maxItems: 16, 'x-kubernetes-list-type': 'atomic' }),
      rule(
        "self.all(a1, a1.type == 'IPAddress' ? self.exists_one(a2, a2.type == a1.type && a2.value == a1.value) : true)",
        'addresses must differ',
      ),
    ),
    infrastructure: fields('What is made for it.', {
      labels: entries('Labels.', { type: 'string', maxLength: 63 }, { maxProperties: 8 }),
      annotations: entries('Annotations.', { type: 'string', maxLength: 4096 }, { maxProperties: 8 }),
      parametersRef: fields(
        'More settings.',
        { group: text('Their group.'), kind: text('Their kind.'), name: name('Their name.') },
        ['group', 'kind', 'name'],
      ),
    }),
    allowedListeners: fields('Who may add listeners.', {
      namespaces: fields(
        'From where.',
        {
          from: choice('Which namespaces.', ['All', 'Selector', 'Same', 'None'], { default: 'None' }),
          selector: labelSelector('Those with these labels.'),
        },
        [],
        { default: { from: 'None' } },
      ),
    }),
    backendTLS: fields('How backends are reached.', { clientCertificateRef: certificateRef }),
    drain: fields(
      'How connections end.',
      { seconds: count('Seconds to end in.', { default: 30, maximum: 3600 }) },
      [],
      { default: {} },
    ),
  },
  ['gatewayClassName', 'listeners'],
);

const found = status({
  addresses: list(
    'Addresses that it has.',
    fields('An address.', { type: text('What it is.'), value: text('The address.') }, ['value']),
    { maxItems: 16 },
  ),
  listeners: keyed(
    'How listeners are.',
    ['name'],
    fields(
      'A listener.',
      {
        name: name('Its name.'),
        attachedRoutes: count('Routes on it.'),
        supportedKinds: list(
          'Kinds of routes.',
          fields('A kind.', { group: text('Its group.'), kind: text('Its name.') }, ['kind']),
          { maxItems: 8 },
        ),
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
      ['attachedRoutes', 'name'],
    ),
    { maxItems: 64 },
  ),
  attachedBy: list('Sets of listeners.', objectRef('A set.')),
});

export const gateways: MadeUpKind = {
  group: 'net.example.com',
  kind: 'Gateway',
  plural: 'gateways',
  shortNames: ['gtw'],
  categories: ['net'],
  versions: [
    {
      name: 'v1alpha2',
      spec: without(spec, 'infrastructure', 'allowedListeners', 'backendTLS', 'drain'),
      status: found,
      deprecated: true,
    },
    { name: 'v1beta1', spec, status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [
        { name: 'Class', type: 'string', jsonPath: '.spec.gatewayClassName' },
        { name: 'Address', type: 'string', jsonPath: '.status.addresses[*].value' },
      ],
      selectable: ['.spec.gatewayClassName'],
    },
  ],
  sample: {
    gatewayClassName: 'shop',
    listeners: [
      { name: 'web', port: 80, protocol: 'HTTP' },
      {
        name: 'secure',
        port: 443,
        protocol: 'HTTPS',
        hostname: '*.example.com',
        tls: { certificateRefs: [{ name: 'cert' }] },
      },
    ],
    addresses: [{ value: '10.0.0.1' }],
  },
  defaults: {
    '/spec/listeners/0/allowedRoutes': { namespaces: { from: 'Same' } },
    '/spec/listeners/1/tls/mode': 'Terminate',
    '/spec/listeners/1/tls/certificateRefs/0': { group: '', kind: 'Secret', name: 'cert' },
    '/spec/addresses/0/type': 'IPAddress',
    '/spec/drain/seconds': 30,
  },
  breaks: [
    {
      spec: {
        listeners: [{ name: 'web', port: 80, protocol: 'HTTP', tls: { certificateRefs: [{ name: 'x' }] } }],
      },
      causes: [['spec.listeners', 'tls must not be given']],
    },
    { spec: { listeners: [] }, causes: [['spec.listeners', 'should have at least 1 items']] },
    {
      spec: { listeners: [{ name: 'web', port: 70_000, protocol: 'HTTP' }] },
      causes: [['spec.listeners[0].port', 'should be less than or equal to 65535']],
    },
    {
      spec: { addresses: [{ value: 'there' }] },
      causes: [
        ['<nil>', '"spec.addresses[0]" must validate one and only one schema (oneOf). Found none valid'],
        ['<nil>', '"spec.addresses[0].value" must validate at least one schema (anyOf)'],
        ['spec.addresses[0].value', 'must be of type ipv4'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { addresses: [{ value: '10.0.0.1' }, { value: '10.0.0.1' }] },
      causes: [['spec.addresses', 'addresses must differ']],
    },
    {
      spec: { listeners: [{ name: 'a', port: 1, protocol: 'TCP', hostname: 'UPPER' }] },
      causes: [
        ['spec.listeners[0].hostname', 'should match'],
        ['spec.listeners', 'hostname must not be given'],
      ],
    },
  ],
  older: { gatewayClassName: 'old', listeners: [{ name: 'a', port: 1, protocol: 'TCP' }] },
  migrated: { '/spec/gatewayClassName': 'old', '/spec/drain/seconds': 30 },
  explained: {
    'spec.listeners.tls.frontendValidation.mode': 'must',
    'spec.infrastructure.parametersRef.kind': 'Their kind',
  },
};
