/**
 * Proves the rules of secrets: types and their required keys, key names, size, immutability, stringData, warnings.
 */
import { expect, test } from 'vitest';
import {
  cells,
  created,
  createdAge,
  createErrors,
  error,
  read,
  texts,
  updated,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { secret } from './secret.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const immutableText = 'Forbidden: field is immutable when `immutable` is set';
const requiredIn = (...names: string[]) => names.map((name) => error('R', `data[${name}]`, 'Required value'));
const redacted = (name: string, problem: string) => [
  error('I', `data[${name}]`, `Invalid value: "<secret contents redacted>": ${problem}`),
];

test('the type is Opaque on create, and the stored one on update, when it is empty', () => {
  expect(written(secret, { data: { a: 'eA==' } })).toMatchObject({ type: 'Opaque' });
  const old = written(secret, { type: 'example.com/x' });
  expect(updated(secret, {}, old)).toMatchObject({ type: 'example.com/x' });
});

test('stringData goes into data and is never kept', () => {
  const made = written(secret, {
    data: { a: 'eA==', c: 'eQ==' },
    stringData: { a: 'b', 'd.e': 'grün', __proto__x: '' },
  });
  expect(made).toMatchObject({ data: { a: 'Yg==', c: 'eQ==', 'd.e': base64('grün'), __proto__x: '' } });
  expect(made).not.toHaveProperty('stringData');
  const hostile = created(secret, JSON.parse('{"stringData":{"__proto__":"x"}}')) as unknown as {
    data: Record<string, string>;
  };
  expect(Object.keys(hostile.data)).toEqual(['__proto__']);
});

test.each<[type: string, data: Record<string, string>, errors: ReturnType<typeof error>[]]>([
  ['Opaque', {}, []],
  ['anything at all', { a: '' }, []],
  ['constructor', {}, []],
  ['bootstrap.kubernetes.io/token', {}, []],
  ['kubernetes.io/dockercfg', {}, requiredIn('.dockercfg')],
  ['kubernetes.io/dockercfg', { '.dockercfg': base64('{"a":1}') }, []],
  [
    'kubernetes.io/dockercfg',
    { '.dockercfg': base64('x') },
    redacted('.dockercfg', "invalid character 'x' looking for beginning of value"),
  ],
  ['kubernetes.io/dockercfg', { '.dockercfg': '' }, redacted('.dockercfg', 'unexpected end of JSON input')],
  [
    'kubernetes.io/dockercfg',
    { '.dockercfg': base64('[]') },
    redacted('.dockercfg', 'json: cannot unmarshal array into Go value of type map[string]interface {}'),
  ],
  ['kubernetes.io/dockerconfigjson', {}, requiredIn('.dockerconfigjson')],
  ['kubernetes.io/dockerconfigjson', { '.dockerconfigjson': base64('{}') }, []],
  [
    'kubernetes.io/dockerconfigjson',
    { '.dockerconfigjson': base64('1') },
    redacted(
      '.dockerconfigjson',
      'json: cannot unmarshal number into Go value of type map[string]interface {}',
    ),
  ],
  ['kubernetes.io/basic-auth', {}, requiredIn('username', 'password')],
  ['kubernetes.io/basic-auth', { username: '' }, []],
  ['kubernetes.io/basic-auth', { password: 'eA==' }, []],
  ['kubernetes.io/ssh-auth', {}, requiredIn('ssh-privatekey')],
  ['kubernetes.io/ssh-auth', { 'ssh-privatekey': '' }, requiredIn('ssh-privatekey')],
  ['kubernetes.io/ssh-auth', { 'ssh-privatekey': 'eA==' }, []],
  ['kubernetes.io/tls', {}, requiredIn('tls.crt', 'tls.key')],
  ['kubernetes.io/tls', { 'tls.crt': '' }, requiredIn('tls.key')],
  ['kubernetes.io/tls', { 'tls.crt': '', 'tls.key': '' }, []],
])('type %s with %o', (type, data, errors) => {
  expect(createErrors(secret, { type, data })).toEqual(errors);
});

test('a token belongs to an account', () => {
  const type = 'kubernetes.io/service-account-token';
  const annotation = 'kubernetes.io/service-account.name';
  const missing = [error('R', `metadata.annotations[${annotation}]`, 'Required value')];
  expect(createErrors(secret, { type })).toEqual(missing);
  expect(createErrors(secret, { type, metadata: { annotations: { [annotation]: '' } } })).toEqual(missing);
  expect(createErrors(secret, { type, metadata: { annotations: { [annotation]: 'x' } } })).toEqual([]);
});

test('keys and size', () => {
  expect(createErrors(secret, { data: { 'a b': 'eA==', '..': 'eA==' } })).toEqual([
    error('I', 'data[..]', 'Invalid value: "..": must not be \'..\''),
    error('I', 'data[a b]', `Invalid value: "a b": ${texts.configKey}`),
  ]);
  const bytes = (count: number) => Buffer.alloc(count).toString('base64');
  expect(createErrors(secret, { data: { a: bytes(1_048_575), b: bytes(1) } })).toEqual([]);
  expect(createErrors(secret, { data: { a: bytes(1_048_575), b: bytes(2) } })).toEqual([
    error('TL', 'data', 'Too long: may not be more than 1048576 bytes'),
  ]);
});

test('the type cannot change', () => {
  expect(updateErrors(secret, { type: 'foo' }, {})).toEqual([
    error('I', 'type', 'Invalid value: "foo": field is immutable'),
  ]);
});

const fixed = { immutable: true, data: { a: 'eA==' } };

test.each<[string, object, string[]]>([
  ['nothing', fixed, []],
  ['immutable', { data: fixed.data }, ['immutable']],
  ['data', { ...fixed, stringData: { z: '' } }, ['data']],
  ['both', { data: { a: 'eQ==' } }, ['immutable', 'data']],
])('change of an immutable secret: %s', (_, body, fields) => {
  expect(updateErrors(secret, body, fixed)).toEqual(fields.map((field) => error('F', field, immutableText)));
});

const pem = (type: string) => `-----BEGIN ${type}-----\neHh4\n-----END ${type}-----\n`;

test.each<[name: string, certificate: string, key: string, warnings: string[]]>([
  ['a pair', pem('CERTIFICATE'), pem('EC PRIVATE KEY'), []],
  ['a chain', pem('CERTIFICATE').repeat(3), pem('EC PARAMETERS') + pem('PRIVATE KEY'), []],
  ['no certificate', 'x', 'x', ['tls: failed to find any PEM data in certificate input']],
  [
    'switched',
    pem('RSA PRIVATE KEY'),
    pem('CERTIFICATE'),
    [
      'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
    ],
  ],
  [
    'something else',
    pem('A') + pem('B'),
    '',
    [
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
  ],
  [
    'another end',
    '-----BEGIN CERTIFICATE-----\neHh4\n-----END X-----\n',
    '',
    ['tls: failed to find any PEM data in certificate input'],
  ],
  ['no key', pem('CERTIFICATE'), '', ['tls: failed to find any PEM data in key input']],
  [
    'two certificates',
    pem('CERTIFICATE'),
    pem('CERTIFICATE'),
    ['tls: found a certificate rather than a key in the PEM for the private key'],
  ],
  [
    'another key',
    pem('CERTIFICATE'),
    pem('PUBLIC KEY'),
    [
      'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [PUBLIC KEY]',
    ],
  ],
])('warning about TLS: %s', (_, certificate, key, warnings) => {
  const body = {
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(certificate), 'tls.key': base64(key) },
  };
  expect(secret.warnings!(created(secret, body), undefined)).toEqual(warnings);
  expect(secret.warnings!(created(secret, { ...body, type: 'x' }), undefined)).toEqual([]);
});

test('a hostile certificate is looked through in no time', () => {
  for (const line of ['-----BEGIN A-----\n', '-----END A-----\n', `${pem('A')}!`]) {
    const body = {
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(line.repeat(50_000)), 'tls.key': '' },
    };
    expect(secret.warnings!(read(secret, body), undefined)[0]).toMatch(/^tls: failed to find .{1,200}$/);
  }
});

test('cells', () => {
  expect(cells(secret, { type: 'Opaque', data: { a: 'eA==', b: '' } })).toEqual({
    Name: 'a',
    Type: 'Opaque',
    Data: 2,
    Age: createdAge,
  });
  expect(secret.selectableFields['type']!(written(secret, {}))).toBe('Opaque');
});
