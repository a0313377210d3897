/** Routes of HTTP requests: which requests go where, and what happens to them on the way. */
import { status } from './schema-parts.ts';
import {
  choice,
  entries,
  fields,
  flag,
  keyed,
  list,
  type MadeUpKind,
  name,
  port,
  rule,
  ruled,
  type Schema,
  span,
  text,
  whole,
  without,
} from './schema-words.ts';

const atomic = { 'x-kubernetes-list-type': 'atomic' };

const headerName = text('Its name.', {
  minLength: 1,
  maxLength: 256,
  pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$",
});
const headerValue = text('Its value.', { minLength: 1, maxLength: 4096 });
const header = fields('A header.', { name: headerName, value: headerValue }, ['name', 'value']);

const headerChange = (description: string): Schema =>
  fields(description, {
    set: keyed('Headers that get a value.', ['name'], header, { maxItems: 16 }),
    add: keyed('Headers that get one more.', ['name'], header, { maxItems: 16 }),
    remove: list('Headers that go.', { type: 'string' }, { maxItems: 16, 'x-kubernetes-list-type': 'set' }),
  });

const pathChange = (description: string): Schema =>
  ruled(
    fields(
      description,
      {
        type: choice('What is changed.', ['ReplaceFullPath', 'ReplacePrefixMatch']),
        replaceFullPath: text('The new path.', { maxLength: 1024 }),
        replacePrefixMatch: text('The new beginning.', { maxLength: 1024 }),
      },
      ['type'],
    ),
    rule(
      "self.type == 'ReplaceFullPath' ? has(self.replaceFullPath) : true",
      'replaceFullPath must be given',
    ),
    rule(
      "self.type == 'ReplacePrefixMatch' ? has(self.replacePrefixMatch) : true",
      'replacePrefixMatch must be given',
    ),
  );

const backend = {
  group: text('Its group.', { default: '', maxLength: 253 }),
  kind: text('Its kind.', { default: 'Service', minLength: 1, maxLength: 63 }),
  name: name('Its name.'),
  namespace: text('Where it is.', { maxLength: 63 }),
  port: port('Its port.'),
};

const needsPort = rule(
  "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
  'a service must have a port',
);

const filterKinds = [
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'RequestMirror',
  'RequestRedirect',
  'URLRewrite',
  'CORS',
  'ExtensionRef',
] as const;

const filter = ruled(
  fields(
    'Something that happens to requests.',
    {
      type: choice('What.', filterKinds),
      requestHeaderModifier: headerChange('Headers of requests.'),
      responseHeaderModifier: headerChange('Headers of answers.'),
      requestMirror: fields(
        'A copy goes elsewhere.',
        {
          backendRef: ruled(fields('Where.', backend, ['name']), needsPort),
          percent: whole('How many.', { minimum: 0, maximum: 100 }),
          fraction: fields(
            'How many, as a fraction.',
            {
              numerator: whole('Of.', { minimum: 0 }),
              denominator: whole('In.', { minimum: 1, default: 100 }),
            },
            ['numerator'],
          ),
        },
        ['backendRef'],
      ),
      requestRedirect: fields('The client is sent elsewhere.', {
        scheme: choice('How.', ['http', 'https']),
        hostname: text('To which host.', { minLength: 1, maxLength: 253 }),
        path: pathChange('To which path.'),
        port: port('To which port.'),
        statusCode: {
          type: 'integer',
          enum: [301, 302, 303, 307, 308],
          default: 302,
          description: 'With which code.',
        },
      }),
      urlRewrite: fields('The request is changed.', {
        hostname: text('The host.', { minLength: 1, maxLength: 253 }),
        path: pathChange('The path.'),
      }),
      cors: fields('Pages of other hosts.', {
        allowOrigins: list('Which.', { type: 'string', maxLength: 253 }, { maxItems: 64, ...atomic }),
        allowMethods: list(
          'With which methods.',
          { type: 'string', enum: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', '*'] },
          { maxItems: 9, ...atomic },
        ),
        allowHeaders: list('With which headers.', { type: 'string' }, { maxItems: 64, ...atomic }),
        exposeHeaders: list('Headers that they see.', { type: 'string' }, { maxItems: 64, ...atomic }),
        allowCredentials: flag('Whether cookies are sent.'),
        maxAge: whole('Seconds to remember.', { minimum: 1, default: 5 }),
      }),
      extensionRef: fields(
        'Something else.',
        {
          group: text('Its group.', { maxLength: 253 }),
          kind: text('Its kind.', { maxLength: 63 }),
          name: name('Its name.'),
        },
        ['group', 'kind', 'name'],
      ),
    },
    ['type'],
  ),
  rule(
    "self.type == 'RequestRedirect' ? has(self.requestRedirect) : !has(self.requestRedirect)",
    'requestRedirect goes with its type',
  ),
  rule(
    "self.type == 'URLRewrite' ? has(self.urlRewrite) : !has(self.urlRewrite)",
    'urlRewrite goes with its type',
  ),
);

const match = fields('Requests that are meant; all of these must hold.', {
  path: ruled(
    fields(
      'The path.',
      {
        type: choice('How it is compared.', ['Exact', 'PathPrefix', 'RegularExpression'], {
          default: 'PathPrefix',
        }),
        value: text('With what.', { default: '/', maxLength: 1024 }),
      },
      [],
      { default: { type: 'PathPrefix', value: '/' } },
    ),
    rule(
      "self.type in ['Exact', 'PathPrefix'] ? self.value.startsWith('/') : true",
      'a path begins with a slash',
    ),
    rule(
      "self.type in ['Exact', 'PathPrefix'] ? !self.value.contains('//') : true",
      'a path has no two slashes in a row',
    ),
  ),
  headers: keyed(
    'Headers.',
    ['name'],
    fields(
      'A header.',
      {
        name: headerName,
        type: choice('How it is compared.', ['Exact', 'RegularExpression'], { default: 'Exact' }),
        value: headerValue,
      },
      ['name', 'value'],
    ),
    { maxItems: 16 },
  ),
  queryParams: keyed(
    'Parameters.',
    ['name'],
    fields(
      'A parameter.',
      {
        name: headerName,
        type: choice('How it is compared.', ['Exact', 'RegularExpression'], { default: 'Exact' }),
        value: text('With what.', { minLength: 1, maxLength: 1024 }),
      },
      ['name', 'value'],
    ),
    { maxItems: 16 },
  ),
  method: choice('The method.', [
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'DELETE',
    'CONNECT',
    'OPTIONS',
    'TRACE',
    'PATCH',
  ]),
});

const routeRule = ruled(
  fields('What happens to some requests.', {
    name: text('A name for it.', { minLength: 1, maxLength: 253 }),
    matches: list('Which requests; one must fit.', match, {
      maxItems: 64,
      default: [{ path: { type: 'PathPrefix', value: '/' } }],
      ...atomic,
    }),
    filters: list('What happens to them.', filter, { maxItems: 16, ...atomic }),
    backendRefs: list(
      'Where they go.',
      ruled(
        fields(
          'A backend.',
          {
            ...backend,
            weight: whole('Its share.', { minimum: 0, maximum: 1_000_000, default: 1 }),
            filters: list('What happens on the way there.', filter, { maxItems: 16, ...atomic }),
          },
          ['name'],
        ),
        needsPort,
      ),
      { maxItems: 16, ...atomic },
    ),
    timeouts: fields('How long it may take.', { request: span('In all.'), backendRequest: span('One try.') }),
    retry: fields('When it is tried again.', {
      codes: list('After which codes.', { type: 'integer', minimum: 400, maximum: 599 }, atomic),
      attempts: whole('How often.', { minimum: 1 }),
      backoff: span('After how long.'),
    }),
    sessionPersistence: fields('The same client to the same backend.', {
      sessionName: text('A name.', { maxLength: 128 }),
      absoluteTimeout: span('For how long.'),
      idleTimeout: span('Without requests.'),
      type: choice('How it is known.', ['Cookie', 'Header'], { default: 'Cookie' }),
      cookieConfig: fields('About the cookie.', {
        lifetimeType: choice('How long it lives.', ['Permanent', 'Session'], { default: 'Session' }),
      }),
    }),
  }),
  rule(
    '!(has(self.backendRefs) && size(self.backendRefs) > 0 && has(self.filters) && self.filters.exists(f, has(f.requestRedirect)))',
    'what is redirected goes to no backend',
  ),
);

const parentRef = fields(
  'Something to attach to.',
  {
    group: text('Its group.', { default: 'net.example.com', maxLength: 253 }),
    kind: text('Its kind.', { default: 'Gateway', minLength: 1, maxLength: 63 }),
    namespace: text('Where it is.', { maxLength: 63 }),
    name: name('Its name.'),
    sectionName: text('A part of it.', { maxLength: 253 }),
    port: port('A port of it.'),
  },
  ['name'],
);

const spec = fields('What the route is to be.', {
  parentRefs: list('Where it attaches.', parentRef, { maxItems: 32, ...atomic }),
  hostnames: list(
    'Hosts that are meant.',
    { type: 'string', minLength: 1, maxLength: 253 },
    { maxItems: 16, ...atomic },
  ),
  rules: list('What happens.', routeRule, {
    maxItems: 16,
    default: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }],
    ...atomic,
  }),
  useDefaultGateways: choice('Attach to the usual ones.', ['All', 'None']),
});

const found = status({
  parents: list(
    'By parent.',
    fields(
      'A parent.',
      {
        parentRef,
        controllerName: text('Who says so.', { pattern: '^[a-z0-9.-]+/[A-Za-z0-9/._~%!$&()*+,;=:-]+$' }),
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
      ['controllerName', 'parentRef'],
    ),
    { maxItems: 32 },
  ),
  labels: entries('For the controller.'),
});

export const httproutes: MadeUpKind = {
  group: 'net.example.com',
  kind: 'HTTPRoute',
  plural: 'httproutes',
  categories: ['net'],
  versions: [
    { name: 'v1alpha2', spec: without(spec, 'useDefaultGateways'), status: found, deprecated: true },
    { name: 'v1beta1', spec, status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [{ name: 'Hosts', type: 'string', jsonPath: '.spec.hostnames' }],
    },
  ],
  sample: {
    parentRefs: [{ name: 'shop' }],
    hostnames: ['shop.example.com'],
    rules: [
      {
        matches: [{ path: { value: '/cart' }, method: 'GET' }, { headers: [{ name: 'x', value: 'y' }] }],
        backendRefs: [{ name: 'cart', port: 80 }],
      },
      { filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }] },
    ],
  },
  defaults: {
    '/spec/parentRefs/0/kind': 'Gateway',
    '/spec/rules/0/matches/0/path/type': 'PathPrefix',
    '/spec/rules/0/matches/1/path': { type: 'PathPrefix', value: '/' },
    '/spec/rules/0/backendRefs/0/weight': 1,
    '/spec/rules/1/matches': [{ path: { type: 'PathPrefix', value: '/' } }],
    '/spec/rules/1/filters/0/requestRedirect/statusCode': 302,
  },
  breaks: [
    {
      spec: { rules: [{ matches: [{ path: { value: 'cart' } }] }] },
      causes: [['spec.rules[0].matches[0].path', 'a path begins with a slash']],
    },
    {
      spec: { rules: [{ backendRefs: [{ name: 'x' }] }] },
      causes: [['spec.rules[0].backendRefs[0]', 'a service must have a port']],
    },
    {
      spec: { rules: [{ filters: [{ type: 'RequestRedirect' }] }] },
      causes: [['spec.rules[0].filters[0]', 'requestRedirect goes with its type']],
    },
    {
      spec: { rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { statusCode: 200 } }] }] },
      causes: [
        [
          'spec.rules[0].filters[0].requestRedirect.statusCode',
          'Unsupported value: 200: supported values: "301"',
        ],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { rules: [{ timeouts: { request: '10 minutes' } }] },
      causes: [['spec.rules[0].timeouts.request', 'should match']],
    },
    {
      spec: {
        rules: [
          {
            matches: [
              {
                headers: [
                  { name: 'a', value: '1' },
                  { name: 'a', value: '2' },
                ],
              },
            ],
          },
        ],
      },
      causes: [['spec.rules[0].matches[0].headers[1]', 'Duplicate value: {"name":"a"}']],
    },
  ],
  older: { parentRefs: [{ name: 'old' }] },
  migrated: { '/spec/parentRefs/0/name': 'old', '/spec/rules/0/matches/0/path/value': '/' },
  explained: {
    'spec.rules.filters.cors.allowOrigins': 'Which',
    'spec.rules.sessionPersistence.cookieConfig.lifetimeType': 'lives',
  },
};
