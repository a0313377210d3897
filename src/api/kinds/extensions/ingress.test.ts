/** Proves the rules of ingresses: backends, rules, paths, TLS, status, and the cells of their table. */
import { expect, test } from 'vitest';
import { cells, createdAge, createErrors, error, statusErrors, texts, written } from '../kind.fixture.ts';
import { ingress } from './ingress.ts';

const backend = { serviceName: 's', servicePort: 80 };
const withPath = (parts: object) => ({
  spec: { rules: [{ http: { paths: [{ path: '/', backend, ...parts }] } }] },
});
const pathAt = 'spec.rules[0].http.paths[0]';
const portRange = 'must be between 1 and 65535, inclusive';

test('what is fine', () => {
  expect(createErrors(ingress, { spec: { backend } })).toEqual([]);
  expect(createErrors(ingress, { spec: { rules: [{ host: 'a.example.com' }] } })).toEqual([]);
  expect(createErrors(ingress, withPath({ path: undefined }))).toEqual([]);
  expect(createErrors(ingress, withPath({ backend: { serviceName: 's', servicePort: 'http' } }))).toEqual([]);
});

test('the path type', () => {
  expect(written(ingress, withPath({}))).toMatchObject(withPath({ pathType: 'ImplementationSpecific' }));
});

test('neither backend nor rules', () => {
  expect(createErrors(ingress, { spec: {} })).toEqual([
    error('I', 'spec', 'Invalid value: null: either `backend` or `rules` must be specified'),
  ]);
});

test.each<[name: string, backend: object, errors: (at: string) => ReturnType<typeof error>[]]>([
  [
    'nothing',
    {},
    (at) => [
      error('R', `${at}.serviceName`, 'Required value'),
      error('R', at, 'Required value: port name or number is required'),
    ],
  ],
  [
    'bad name',
    { ...backend, serviceName: 'a.b' },
    (at) => [error('I', `${at}.serviceName`, 'Invalid value: "a.b": must not contain dots')],
  ],
  [
    'port zero',
    { ...backend, servicePort: 0 },
    (at) => [error('R', at, 'Required value: port name or number is required')],
  ],
  [
    'empty port',
    { ...backend, servicePort: '' },
    (at) => [error('R', at, 'Required value: port name or number is required')],
  ],
  [
    'high port',
    { ...backend, servicePort: 65_536 },
    (at) => [error('I', `${at}.servicePort`, `Invalid value: 65536: ${portRange}`)],
  ],
  [
    'bad port name',
    { ...backend, servicePort: '80' },
    (at) => [error('I', `${at}.servicePort`, 'Invalid value: "80": must contain at least one letter (a-z)')],
  ],
  ['resource', { resource: { kind: 'Bucket', name: 'b' } }, () => []],
  [
    'resource and service',
    { ...backend, resource: { kind: 'Bucket', name: 'b' } },
    (at) => [error('I', at, 'Invalid value: "": cannot set both resource and service backends')],
  ],
])('backend: %s', (_, value, errors) => {
  expect(createErrors(ingress, { spec: { backend: value } })).toEqual(errors('spec.backend'));
  expect(createErrors(ingress, withPath({ backend: value }))).toEqual(errors(`${pathAt}.backend`));
});

test.each<[host: string, problems: string[]]>([
  ['*.example.com', []],
  ['10.0.0.1', ['must be a DNS name, not an IP address']],
  ['a_b', [texts.subdomain]],
  ['a.*.com', [texts.wildcard]],
])('host %s', (host, problems) => {
  expect(createErrors(ingress, { spec: { rules: [{ host }] } })).toEqual(
    problems.map((problem) => error('I', 'spec.rules[0].host', `Invalid value: "${host}": ${problem}`)),
  );
});

test('a rule without paths', () => {
  expect(createErrors(ingress, { spec: { rules: [{ http: { paths: [] } }] } })).toEqual([
    error('R', 'spec.rules[0].http.paths', 'Required value'),
  ]);
});

test.each<[path: string, pathType: string, problems: string[]]>([
  ['/a//b', 'ImplementationSpecific', []],
  ['', 'ImplementationSpecific', []],
  ['a', 'ImplementationSpecific', ['must be an absolute path']],
  ['/a', 'Exact', []],
  ['', 'Prefix', ['must be an absolute path']],
  ['/a//b', 'Prefix', ["must not contain '//'"]],
  ['/a/./b', 'Exact', ["must not contain '/./'"]],
  ['/a/../b', 'Exact', ["must not contain '/../'"]],
  ['/a%2fb', 'Exact', ["must not contain '%2f'"]],
  ['/a%2Fb', 'Exact', ["must not contain '%2F'"]],
  ['/a/..', 'Prefix', ["cannot end with '/..'"]],
  ['/a/.', 'Prefix', ["cannot end with '/.'"]],
])('path %s of type %s', (path, pathType, problems) => {
  expect(createErrors(ingress, withPath({ path, pathType }))).toEqual(
    problems.map((problem) => error('I', `${pathAt}.path`, `Invalid value: "${path}": ${problem}`)),
  );
});

test('another path type', () => {
  expect(createErrors(ingress, withPath({ pathType: 'Foo' }))).toEqual([
    error(
      'N',
      `${pathAt}.pathType`,
      'Unsupported value: "Foo": supported values: "Exact", "ImplementationSpecific", "Prefix"',
    ),
  ]);
});

test('hosts of TLS', () => {
  expect(createErrors(ingress, { spec: { backend, tls: [{ hosts: ['a.b', 'a_b', '*.a', 'a*'] }] } })).toEqual(
    [
      error('I', 'spec.tls[0].hosts[1]', `Invalid value: "a_b": ${texts.subdomain}`),
      error('I', 'spec.tls[0].hosts[3]', `Invalid value: "a*": ${texts.wildcard}`),
    ],
  );
});

test('the class', () => {
  const body = (ingressClassName: string, annotation?: string) => ({
    metadata: annotation ? { annotations: { 'kubernetes.io/ingress.class': annotation } } : {},
    spec: { backend, ingressClassName },
  });
  expect(createErrors(ingress, body('a', 'a'))).toEqual([]);
  expect(createErrors(ingress, body('A'))).toEqual([
    error('I', 'spec.ingressClassName', `Invalid value: "A": ${texts.subdomain}`),
  ]);
  expect(createErrors(ingress, body('a', 'b'))).toEqual([
    error(
      'I',
      'annotations.kubernetes.io/ingress.class',
      'Invalid value: "b": must match `ingressClassName` when both are specified',
    ),
  ]);
});

test('the status', () => {
  const check = (...entries: object[]) =>
    statusErrors(ingress, { status: { loadBalancer: { ingress: entries } } });
  const at = 'status.loadBalancer.ingress';
  expect(check({ ip: '1.2.3.4' }, { hostname: 'a.b' })).toEqual([]);
  expect(check({ ip: 'x' }, { hostname: 'a_b' }, { hostname: '1.2.3.4' })).toEqual([
    error('I', `${at}[0].ip`, `Invalid value: "x": ${texts.ip}`),
    error('I', `${at}[1].hostname`, `Invalid value: "a_b": ${texts.subdomain}`),
    error('I', `${at}[2].hostname`, 'Invalid value: "1.2.3.4": must be a DNS name, not an IP address'),
  ]);
});

test('cells', () => {
  const hosts = (...names: string[]) => names.map((host) => ({ host }));
  expect(
    cells(ingress, {
      spec: { rules: hosts('a', 'b', 'c', 'd', 'e'), tls: [{}], ingressClassName: 'x' },
      status: {
        loadBalancer: {
          ingress: [{ ip: '2.2.2.2' }, { hostname: 'h' }, { ip: '1.1.1.1' }, { ip: '2.2.2.2' }],
        },
      },
    }),
  ).toEqual({
    Name: 'a',
    Class: 'x',
    Hosts: 'a,b,c + 2 more...',
    Address: '1.1.1.1,2.2.2.2,h',
    Ports: '80, 443',
    Age: createdAge,
  });
  expect(cells(ingress, { spec: { backend } })).toEqual({
    Name: 'a',
    Class: '<none>',
    Hosts: '*',
    Address: '',
    Ports: '80',
    Age: createdAge,
  });
  expect(cells(ingress, { spec: { rules: hosts('a', 'b') } })).toMatchObject({ Hosts: 'a,b' });
});
