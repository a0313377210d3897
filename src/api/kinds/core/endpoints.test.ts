/** Proves the rules of endpoints: addresses, ports, and the text of their table row. */
import { expect, test } from 'vitest';
import { cells, createdAge, createErrors, error, texts, updateErrors, written } from '../kind.fixture.ts';
import { endpoints } from './endpoints.ts';

const address = { ip: '10.1.1.1' };
const subset = (parts: object) => ({ subsets: [{ addresses: [address], ...parts }] });

test('the protocol is TCP', () => {
  expect(written(endpoints, subset({ ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }] }))).toMatchObject({
    subsets: [{ ports: [{ port: 80, protocol: 'TCP' }, { protocol: 'UDP' }] }],
  });
});

test('subsets may be absent, empty, or without ports', () => {
  expect(createErrors(endpoints, {})).toEqual([]);
  expect(createErrors(endpoints, { subsets: [] })).toEqual([]);
  expect(createErrors(endpoints, subset({}))).toEqual([]);
  expect(createErrors(endpoints, { subsets: [{ notReadyAddresses: [address] }] })).toEqual([]);
});

test('a subset without addresses', () => {
  expect(createErrors(endpoints, { subsets: [{ addresses: [address] }, {}] })).toEqual([
    error('R', 'subsets[1]', 'Required value: must specify `addresses` or `notReadyAddresses`'),
  ]);
});

const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';

test.each<[ip: string, problems: string[]]>([
  ['2001:db8::1', []],
  ['128.0.0.1', []],
  ['224.0.1.1', []],
  ['ff05::1', []],
  ['', [texts.ip, 'must be a valid IP address']],
  ['zz', [texts.ip, 'must be a valid IP address']],
  ['0.0.0.0', ['may not be unspecified (0.0.0.0)']],
  ['::', ['may not be unspecified (::)']],
  ['127.0.0.1', [loopback]],
  ['127.255.0.1', [loopback]],
  ['::1', [loopback]],
  ['169.254.1.1', [linkLocal]],
  ['fe80::1', [linkLocal]],
  ['febf::1', [linkLocal]],
  ['224.0.0.1', [multicast]],
  ['ff02::1', [multicast]],
  ['ff12::1', [multicast]],
  ['010.1.1.1', ['must not have leading 0s']],
])('address %s', (ip, problems) => {
  for (const list of ['addresses', 'notReadyAddresses'])
    expect(createErrors(endpoints, { subsets: [{ [list]: [address, { ip }] }] })).toEqual(
      problems.map((problem) => error('I', `subsets[0].${list}[1].ip`, `Invalid value: "${ip}": ${problem}`)),
    );
});

test('host and node names', () => {
  const bad = { ip: '10.1.1.1', hostname: 'a.b', nodeName: 'a_b' };
  expect(createErrors(endpoints, { subsets: [{ addresses: [bad] }] })).toEqual([
    error('I', 'subsets[0].addresses[0].hostname', 'Invalid value: "a.b": must not contain dots'),
    error('I', 'subsets[0].addresses[0].nodeName', `Invalid value: "a_b": ${texts.subdomain}`),
  ]);
  const good = { ip: '10.1.1.1', hostname: 'a', nodeName: 'a.b' };
  expect(createErrors(endpoints, { subsets: [{ addresses: [good] }] })).toEqual([]);
});

test.each<[name: string, ports: object[], errors: ReturnType<typeof error>[]]>([
  ['one without a name', [{ port: 1 }], []],
  [
    'two without names',
    [{ port: 1 }, { port: 2 }],
    [0, 1].map((i) => error('R', `subsets[0].ports[${i}].name`, 'Required value')),
  ],
  [
    'a bad name',
    [{ port: 1, name: 'A' }],
    [error('I', 'subsets[0].ports[0].name', `Invalid value: "A": ${texts.label}`)],
  ],
  [
    'no port',
    [{}],
    [error('I', 'subsets[0].ports[0].port', 'Invalid value: 0: must be between 1 and 65535, inclusive')],
  ],
  [
    'a high port',
    [{ port: 65_536 }],
    [error('I', 'subsets[0].ports[0].port', 'Invalid value: 65536: must be between 1 and 65535, inclusive')],
  ],
  [
    'another protocol',
    [{ port: 1, protocol: 'X' }],
    [
      error(
        'N',
        'subsets[0].ports[0].protocol',
        'Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      ),
    ],
  ],
  [
    'a bad appProtocol',
    [{ port: 1, appProtocol: 'a b' }],
    [error('I', 'subsets[0].ports[0].appProtocol', `Invalid value: "a b": ${texts.qualified}`)],
  ],
])('ports: %s', (_, ports, errors) => {
  expect(createErrors(endpoints, subset({ ports }))).toEqual(errors);
});

test('an update is checked alike', () => {
  expect(updateErrors(endpoints, { subsets: [{}] }, {})).toHaveLength(1);
  expect(updateErrors(endpoints, subset({ ports: [{ port: 1 }] }), subset({}))).toEqual([]);
});

test('clients are told that the kind is old', () => {
  expect(endpoints.deprecation).toBe(
    'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  );
});

const ips = (count: number) => Array.from({ length: count }, (_, i) => ({ ip: `10.0.0.${i + 1}` }));

test.each<[text: string, subsets: object[]]>([
  ['<none>', []],
  ['', [{ notReadyAddresses: ips(1), ports: [{ port: 80 }] }]],
  ['10.0.0.1,10.0.0.2', [{ addresses: ips(2) }]],
  ['10.0.0.1:80', [{ addresses: ips(1), ports: [{ port: 80 }] }]],
  ['10.0.0.1:80,10.0.0.1:443', [{ addresses: ips(1), ports: [{ port: 80 }, { port: 443 }] }]],
  ['[2001:db8::1]:80', [{ addresses: [{ ip: '2001:db8::1' }], ports: [{ port: 80 }] }]],
  ['2001:db8::1', [{ addresses: [{ ip: '2001:db8::1' }] }]],
  [
    '10.0.0.1:1,10.0.0.2:1,10.0.0.1:2 + 1 more...',
    [{ addresses: ips(2), ports: [{ port: 1 }, { port: 2 }] }],
  ],
  [
    '10.0.0.1,10.0.0.1:1,10.0.0.2:1 + 3 more...',
    [{ addresses: ips(1) }, { addresses: ips(5), ports: [{ port: 1 }] }],
  ],
])('cells: %s', (text, subsets) => {
  expect(cells(endpoints, { subsets })).toEqual({ Name: 'a', Endpoints: text, Age: createdAge });
});

test('many addresses with many ports are counted, not listed', () => {
  const body = {
    subsets: [{ addresses: ips(20_000), ports: Array.from({ length: 20_000 }, () => ({ port: 1 })) }],
  };
  expect(cells(endpoints, body)['Endpoints']).toBe('10.0.0.1:1,10.0.0.2:1,10.0.0.3:1 + 399999997 more...');
});
