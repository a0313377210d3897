/** Virtual services: how a mesh routes requests between versions of a service. */
import { httpProbe, status } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  flag,
  list,
  type MadeUpKind,
  plus,
  rule,
  ruled,
  type Schema,
  span,
  text,
  whole,
  without,
} from './schema-words.ts';

/** Exactly one way of comparing. */
const stringMatch = (description: string): Schema => ({
  ...fields(description, {
    exact: text('This text.'),
    prefix: text('Begins with it.'),
    regex: text('Matches it.'),
  }),
  oneOf: [
    { not: { anyOf: [{ required: ['exact'] }, { required: ['prefix'] }, { required: ['regex'] }] } },
    { required: ['exact'] },
    { required: ['prefix'] },
    { required: ['regex'] },
  ],
});

const destination = fields(
  'A version of a service.',
  {
    host: text('The service.', { minLength: 1 }),
    subset: text('The version.'),
    port: fields('The port.', { number: whole('Its number.', { minimum: 0, maximum: 65_535 }) }),
  },
  ['host'],
);

const headers = fields('Changes of headers.', {
  request: fields('Of requests.', {
    add: entries('One more.'),
    set: entries('A value.'),
    remove: list('Gone.', { type: 'string' }),
  }),
  response: fields('Of answers.', {
    add: entries('One more.'),
    set: entries('A value.'),
    remove: list('Gone.', { type: 'string' }),
  }),
});

const percent = fields('How many.', {
  value: { type: 'number', format: 'double', minimum: 0, maximum: 100, description: 'Percent.' },
});

const httpMatch = fields('Requests that are meant.', {
  name: text('A name for it.'),
  uri: stringMatch('The path.'),
  scheme: stringMatch('Plain or over TLS.'),
  method: stringMatch('The method.'),
  authority: stringMatch('The host.'),
  headers: entries('Headers.', stringMatch('A header.'), { maxProperties: 50 }),
  withoutHeaders: entries('Headers that must not be there.', stringMatch('A header.'), { maxProperties: 50 }),
  queryParams: entries('Parameters.', stringMatch('A parameter.'), { maxProperties: 50 }),
  port: count('The port.', { maximum: 65_535 }),
  sourceLabels: entries('Labels of those who ask.'),
  sourceNamespace: text('Where they are.'),
  gateways: list('Where they come in.', { type: 'string' }),
  ignoreUriCase: flag('Large and small letters are the same.'),
  statPrefix: text('The name in figures.'),
});

const http = ruled(
  fields('What happens to requests.', {
    name: text('A name for it.', { maxLength: 253 }),
    match: list('Which.', httpMatch, { maxItems: 100 }),
    route: list(
      'Where they go.',
      fields('A place.', { destination, weight: count('Its share.', { maximum: 100 }), headers }, [
        'destination',
      ]),
      { maxItems: 50 },
    ),
    redirect: {
      ...fields('The client is sent elsewhere.', {
        uri: text('To which path.'),
        authority: text('To which host.'),
        scheme: text('How.'),
        port: count('To which port.', { maximum: 65_535 }),
        derivePort: choice('Or one that follows.', ['FROM_PROTOCOL_DEFAULT', 'FROM_REQUEST_PORT']),
        redirectCode: count('With which code.', { default: 301 }),
      }),
      oneOf: [
        { not: { anyOf: [{ required: ['port'] }, { required: ['derivePort'] }] } },
        { required: ['port'] },
        { required: ['derivePort'] },
      ],
    },
    directResponse: {
      ...fields(
        'An answer at once.',
        {
          status: whole('Its code.', { minimum: 100, maximum: 599 }),
          body: fields('What it says.', { string: text('Text.'), bytes: text('Bytes.', { format: 'byte' }) }),
        },
        ['status'],
      ),
    },
    rewrite: fields('The request is changed.', {
      uri: text('The path.'),
      authority: text('The host.'),
      uriRegexRewrite: fields('The path, by a pattern.', {
        match: text('The pattern.'),
        rewrite: text('What is written.'),
      }),
    }),
    delegate: fields('Another one decides.', { name: text('Its name.'), namespace: text('Where it is.') }),
    timeout: span('How long it may take.'),
    retries: fields('When it is tried again.', {
      attempts: count('How often.', { default: 2 }),
      perTryTimeout: span('How long one try takes.'),
      backoff: span('After how long.'),
      retryOn: text('After what.', { default: 'connect-failure,refused-stream' }),
      retryRemoteLocalities: flag('Further away.'),
      retryIgnorePreviousHosts: flag('Elsewhere.'),
    }),
    fault: fields('Trouble on purpose.', {
      delay: fields('Slow.', { fixedDelay: span('How slow.'), percentage: percent }),
      abort: fields('Broken.', {
        httpStatus: whole('With this code.', { minimum: 200, maximum: 599 }),
        grpcStatus: text('Or this.'),
        percentage: percent,
      }),
    }),
    mirror: destination,
    mirrorPercentage: percent,
    mirrors: list('Copies.', fields('A copy.', { destination, percentage: percent }, ['destination'])),
    corsPolicy: fields('Pages of other hosts.', {
      allowOrigins: list('Which.', stringMatch('A host.')),
      allowMethods: list('Methods.', { type: 'string' }),
      allowHeaders: list('Headers.', { type: 'string' }),
      exposeHeaders: list('Headers that they see.', { type: 'string' }),
      maxAge: span('How long it is remembered.'),
      allowCredentials: { type: 'boolean', nullable: true, description: 'Whether cookies are sent.' },
      unmatchedPreflights: choice('What happens to others.', ['UNSPECIFIED', 'FORWARD', 'IGNORE']),
    }),
    headers,
    health: httpProbe('How places are watched.'),
  }),
  rule('!(has(self.route) && has(self.redirect))', 'a request is routed or redirected'),
  rule(
    '!has(self.route) || self.route.size() == 1 || self.route.map(r, has(r.weight) ? r.weight : 0).sum() == 100',
    'weights must add up to 100',
  ),
);

const layer4 = fields('Connections that are meant.', {
  destinationSubnets: list('Where to.', { type: 'string' }),
  port: count('The port.', { maximum: 65_535 }),
  sourceLabels: entries('Labels of those who ask.'),
  sourceNamespace: text('Where they are.'),
  sourceSubnet: text('Their range.'),
  gateways: list('Where they come in.', { type: 'string' }),
});

const l4Route = list(
  'Where they go.',
  fields('A place.', { destination, weight: count('Its share.', { maximum: 100 }) }, ['destination']),
);

const spec = fields(
  'What the mesh does.',
  {
    hosts: list(
      'Hosts that are meant.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { minItems: 1, maxItems: 100 },
    ),
    gateways: list('Where requests come in.', { type: 'string' }),
    http: list('For HTTP.', http, { maxItems: 30 }),
    tls: list(
      'For TLS.',
      fields(
        'What happens to connections.',
        {
          match: list(
            'Which.',
            plus(layer4, { sniHosts: list('Names.', { type: 'string' }, { minItems: 1 }) }),
          ),
          route: l4Route,
        },
        ['match'],
      ),
    ),
    tcp: list(
      'For others.',
      fields('What happens to connections.', { match: list('Which.', layer4), route: l4Route }),
    ),
    exportTo: list('Who sees it.', { type: 'string' }),
  },
  ['hosts'],
);

const found: Schema = plus(
  status({
    validationMessages: list('What was noticed.', {
      type: 'object',
      description: 'A message.',
      'x-kubernetes-preserve-unknown-fields': true,
    }),
  }),
  {},
);

export const virtualservices: MadeUpKind = {
  group: 'mesh.example.com',
  kind: 'VirtualService',
  plural: 'virtualservices',
  shortNames: ['vs'],
  categories: ['mesh'],
  versions: [
    { name: 'v1alpha3', spec: without(spec, 'exportTo'), status: found },
    { name: 'v1beta1', spec, status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [
        { name: 'Gateways', type: 'string', jsonPath: '.spec.gateways' },
        { name: 'Hosts', type: 'string', jsonPath: '.spec.hosts' },
      ],
    },
  ],
  sample: {
    hosts: ['shop'],
    http: [
      {
        match: [{ uri: { prefix: '/v2' }, headers: { user: { exact: 'ann' } } }],
        route: [
          { destination: { host: 'shop', subset: 'v2' }, weight: 10 },
          { destination: { host: 'shop', subset: 'v1' }, weight: 90 },
        ],
        retries: {},
      },
      { redirect: { uri: '/' }, corsPolicy: { allowCredentials: null } },
    ],
  },
  defaults: {
    '/spec/http/0/retries/attempts': 2,
    '/spec/http/1/redirect/redirectCode': 301,
    '/spec/http/1/corsPolicy/allowCredentials': null,
  },
  breaks: [
    {
      spec: { http: [{ match: [{ uri: { exact: 'a', prefix: 'b' } }] }] },
      causes: [
        [
          '<nil>',
          '"spec.http[0].match[0].uri" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ],
      ],
    },
    {
      spec: {
        http: [
          {
            route: [
              { destination: { host: 'a' }, weight: 1 },
              { destination: { host: 'b' }, weight: 2 },
            ],
          },
        ],
      },
      causes: [['spec.http[0]', 'weights must add up to 100']],
    },
    {
      spec: { http: [{ route: [{ destination: { host: 'a' } }], redirect: {} }] },
      causes: [['spec.http[0]', 'a request is routed or redirected']],
    },
    {
      spec: { http: [{ directResponse: { status: 99 } }] },
      causes: [['spec.http[0].directResponse.status', 'should be greater than or equal to 100']],
    },
    {
      spec: { http: [{ fault: { delay: { percentage: { value: 100.5 } } } }] },
      causes: [['spec.http[0].fault.delay.percentage.value', 'should be less than or equal to 100']],
    },
    {
      spec: { hosts: null },
      causes: [
        ['spec.hosts', 'Required value'],
        ['<nil>', 'some validation rules'],
      ],
    },
  ],
  older: { hosts: ['old'], tcp: [{ match: [{ port: 27_017 }], route: [{ destination: { host: 'db' } }] }] },
  migrated: { '/spec/tcp/0/match/0/port': 27_017 },
  explained: { 'spec.http.fault.abort.httpStatus': 'With this code', 'spec.tls.match.sniHosts': 'Names' },
};
