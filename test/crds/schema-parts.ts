/** Parts that many kinds have: references, selectors, conditions, TLS. */
import {
  choice,
  entries,
  fields,
  flag,
  keyed,
  list,
  name,
  type Schema,
  set,
  span,
  text,
  time,
  whole,
} from './schema-words.ts';

export const nameRef = (description: string): Schema =>
  fields(description, { name: name('The name of the object.') }, ['name'], {
    'x-kubernetes-map-type': 'atomic',
  });

export const secretKey = (description: string): Schema =>
  fields(
    description,
    {
      name: name('The secret, in the same namespace.'),
      key: text('The entry of the secret that is meant.'),
      optional: flag('Whether the secret, or the entry, may be missing.'),
    },
    ['key'],
    { 'x-kubernetes-map-type': 'atomic' },
  );

const secretOrConfigKey = (description: string): Schema =>
  fields(description, {
    secret: secretKey('An entry of a secret.'),
    configMap: secretKey('An entry of a config map.'),
  });

export const objectRef = (description: string): Schema =>
  fields(
    description,
    {
      apiVersion: text('The version of the format of the object.'),
      kind: text('What the object is.'),
      name: name('What it is called.'),
      namespace: text('Where it is; this namespace when unset.'),
    },
    ['kind', 'name'],
  );

export const labelSelector = (description: string): Schema =>
  fields(
    description,
    {
      matchLabels: entries('Labels that must be there with these values.'),
      matchExpressions: list(
        'Further requirements; all must hold.',
        fields(
          'One requirement.',
          {
            key: text('The label it is about.'),
            operator: choice('How label and values are compared.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
            values: list(
              'Values to compare with.',
              { type: 'string' },
              { 'x-kubernetes-list-type': 'atomic' },
            ),
          },
          ['key', 'operator'],
        ),
        { 'x-kubernetes-list-type': 'atomic' },
      ),
    },
    [],
    { 'x-kubernetes-map-type': 'atomic' },
  );

const conditions = (description = 'How things are going, by aspect.'): Schema =>
  keyed(
    description,
    ['type'],
    fields(
      'One aspect.',
      {
        type: text('The aspect.', { maxLength: 316 }),
        status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
        reason: text('Why, in one word for programs.', {
          maxLength: 1024,
          pattern: '^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$',
        }),
        message: text('Why, in a sentence for people.', { maxLength: 32_768 }),
        lastTransitionTime: time('When it last changed.'),
        observedGeneration: {
          type: 'integer',
          format: 'int64',
          minimum: 0,
          description: 'The generation of the spec that was looked at.',
        },
      },
      ['type', 'status'],
    ),
  );

export const status = (more: Record<string, Schema>): Schema =>
  fields('What was found out about the object.', {
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      description: 'The generation of the spec that was acted on.',
    },
    conditions: conditions(),
    ...more,
  });

export const tlsClient = (description: string): Schema =>
  fields(description, {
    ca: secretOrConfigKey('Certificates that sign the server.'),
    cert: secretOrConfigKey('The certificate to show.'),
    keySecret: secretKey('The private key of that certificate.'),
    caFile: text('A file with the signing certificates.'),
    certFile: text('A file with the certificate.'),
    keyFile: text('A file with the key.'),
    serverName: text('The name that the server must prove.'),
    insecureSkipVerify: flag('Take any certificate. Only for trying things out.'),
    minVersion: choice('The oldest version of TLS.', ['TLS10', 'TLS11', 'TLS12', 'TLS13']),
    maxVersion: choice('The newest version of TLS.', ['TLS10', 'TLS11', 'TLS12', 'TLS13']),
  });

export const oauth = (description: string): Schema =>
  fields(
    description,
    {
      clientId: secretOrConfigKey('Who asks for tokens.'),
      clientSecret: secretKey('The password of the one who asks.'),
      tokenUrl: text('Where tokens are asked for.', { minLength: 1 }),
      scopes: list('What the tokens shall be good for.', { type: 'string' }),
      endpointParams: entries('Further parameters of the request.'),
      proxyUrl: text('The proxy to go through.', { pattern: '^(http|https|socks5)://.+$' }),
      tlsConfig: tlsClient('How the token server is reached.'),
    },
    ['clientId', 'clientSecret', 'tokenUrl'],
  );

export const httpProbe = (description: string): Schema =>
  fields(description, {
    path: text('The path that is asked for.', { default: '/' }),
    host: text('The host that is named in the request.'),
    scheme: choice('Plain or over TLS.', ['HTTP', 'HTTPS'], { default: 'HTTP' }),
    headers: list(
      'Headers to send.',
      fields('A header.', { name: name('Its name.'), value: text('Its value.') }, ['name', 'value']),
    ),
    interval: span('Time between two requests.', { default: '10s' }),
    timeout: span('Time to wait for an answer.'),
    healthyThreshold: whole('Good answers in a row that count.', { minimum: 1, default: 1 }),
    unhealthyThreshold: whole('Bad answers in a row that count.', { minimum: 1, default: 3 }),
    expectedStatuses: set('Codes that count as good.', { type: 'integer' }),
  });
