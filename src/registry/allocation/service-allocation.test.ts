/**
 * Services get unique addresses and node ports under failures and concurrency, and a value that no stored service
 * holds is free.
 */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import type { IPAddress, Service, ServiceSpec } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { admissionChain } from '../admission/plugins.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import { endpointsRemoval } from '../system/endpoints-removal.ts';
import { ensureSystemNamespaces } from '../system/system-namespaces.ts';
import { collectionOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { modify } from '../verbs/modify.ts';
import type { Entry } from '../view/entry.ts';
import { everything } from '../view/filter.ts';
import { View } from '../view/view.ts';
import { makeWriting, type Writing } from '../writing.ts';
import { parseIPRanges } from './ip-allocator.ts';
import { parsePortRange } from './port-allocator.ts';
import { ServiceAllocator } from './service-allocation.ts';

let store: Store;
let view: View;
let registry: Registry;
let writing: Writing;
let allocator: ServiceAllocator;
let services: Kind;
let uid = 0;

const sources = {
  nowMs: () => Date.now(),
  uid: () => `00000000-0000-4000-8000-${String(++uid).padStart(12, '0')}`,
  randomBelow: (bound: number) => Math.floor(Math.random() * bound),
};

/** 10.0.0.0/28 has fourteen addresses, one of which is reserved; there are four ports. */
async function open(): Promise<void> {
  const kinds = new KindTable();
  services = kinds.resource('v1', 'services')!;
  view = await View.open(store, kinds);
  const [addresses, nodePorts] = [parseIPRanges('10.0.0.0/28')!, parsePortRange('30000-30003')!];
  allocator = new ServiceAllocator(view, { addresses, nodePorts });
  writing = makeWriting(store, view, kinds, sources, {
    admission: admissionChain,
    allocators: [allocator, allocator.addresses],
    removals: [endpointsRemoval],
  });
  ({ registry } = writing);
}

beforeEach(async () => {
  store = openMemoryStore();
  await open();
  await ensureSystemNamespaces(writing);
});

afterEach(async () => {
  view.close();
  await store.close();
});

const ports = [{ port: 80 }];
const spec = (entry: Entry): ServiceSpec => (entry.object() as Service).spec!;
const make = (name: string, sent: ServiceSpec = {}, dryRun = false): Promise<Entry> =>
  create(writing, asTester('create', { dryRun }), collectionOf(services, 'default'), {
    metadata: { name },
    spec: { ports: structuredClone(ports), ...sent },
  });
const change = (name: string, sent: ServiceSpec, dryRun = false): Promise<Entry> =>
  modify(
    writing,
    asTester('update', { dryRun }),
    { kind: services, namespace: 'default', name, part: 'main' },
    (current) => {
      const service = current.object() as Service;
      service.spec = { ...service.spec, ...sent };
      services.defaults!(service);
      return service;
    },
  );
const drop = (name: string) =>
  remove(writing, asTester('delete'), { kind: services, namespace: 'default', name, part: 'main' }, {});
const message = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: Error) => (error instanceof StatusError ? `${error.code} ${error.message}` : String(error)),
  );
/** The reserved address is always held. */
const held = () => ({ ...allocator.held, addresses: allocator.held.addresses - 1 });

describe('addresses', () => {
  test('of concurrent creates never meet, and the rest is told that the range is full', async () => {
    const made = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => make(`s${i}`)));
    const given = made.flatMap((each) => (each.status === 'fulfilled' ? [spec(each.value).clusterIP] : []));
    expect(new Set(given).size).toBe(13);
    expect(given).toHaveLength(13);
    expect(given).not.toContain('10.0.0.1');
    const full = made.findIndex((each) => each.status === 'rejected');
    expect(await message(make('one-more'))).toBe(
      '500 Internal error occurred: failed to allocate a serviceIP for Service "one-more": range is full',
    );
    expect((made[full] as PromiseRejectedResult).reason.code).toBe(500);
    expect(held().addresses).toBe(13);
    await Promise.all(made.map((each, i) => (each.status === 'fulfilled' ? drop(`s${i}`) : undefined)));
    expect(held()).toEqual({ addresses: 0, ports: 0 });
  });

  test('asked for by name: given, taken, outside', async () => {
    expect(spec(await make('a', { clusterIP: '10.0.0.9' })).clusterIPs).toEqual(['10.0.0.9']);
    expect(await message(make('b', { clusterIP: '10.0.0.9' }))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: provided IP is already allocated',
    );
    expect(await message(make('b', { clusterIP: '11.0.0.1' }))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["11.0.0.1"]: failed to allocate IP 11.0.0.1: the provided network does not match the current range',
    );
    expect(await message(make('b', { clusterIP: '10.0.0.1' }))).toContain('already allocated');
    const race = await Promise.allSettled([1, 2, 3].map((i) => make(`r${i}`, { clusterIP: '10.0.0.10' })));
    expect(race.filter((each) => each.status === 'fulfilled')).toHaveLength(1);
  });

  test('the first address goes to the kubernetes service, asked for or not', async () => {
    expect(spec(await make('kubernetes')).clusterIP).toBe('10.0.0.1');
    await drop('kubernetes');
    expect(spec(await make('kubernetes', { clusterIP: '10.0.0.1' })).clusterIP).toBe('10.0.0.1');
  });

  test('are given back by every write that fails', async () => {
    await make('a');
    const failures = await Promise.all(
      [make('a'), make('b', { type: 'Foo' }), make('B'), make('c', { ports: [] })].map(message),
    );
    expect(failures.map((text) => text.slice(0, 3))).toEqual(['409', '422', '422', '422']);
    expect(held()).toEqual({ addresses: 1, ports: 0 });
  });

  test('that a dry run names may be taken or foreign, because nothing is allocated', async () => {
    await make('a', { clusterIP: '10.0.0.9', type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] });
    const before = held();
    for (const clusterIP of ['10.0.0.9', '192.168.3.4'])
      expect(spec(await make('b', { clusterIP }, true)).clusterIPs).toEqual([clusterIP]);
    for (const nodePort of [30_001, 80])
      expect(
        spec(await make('b', { type: 'NodePort', ports: [{ port: 80, nodePort }] }, true)).ports![0]!
          .nodePort,
      ).toBe(nodePort);
    expect(spec(await change('a', { ports: [{ port: 80, nodePort: 79 }] }, true)).ports![0]!.nodePort).toBe(
      79,
    );
    expect(held()).toEqual(before);
    expect(await message(make('b', { clusterIP: '192.168.3.4' }))).toMatch(/^422 /);
  });

  test('are not taken by a dry run', async () => {
    const tried = await make('a', { type: 'NodePort', clusterIP: '10.0.0.9' }, true);
    expect(spec(tried).ports![0]!.nodePort).toBeGreaterThanOrEqual(30_000);
    expect(held()).toEqual({ addresses: 0, ports: 0 });
    expect(spec(await make('b', { clusterIP: '10.0.0.9' })).clusterIP).toBe('10.0.0.9');
  });

  test('are not taken by headless services and names', async () => {
    expect(spec(await make('a', { clusterIP: 'None' })).clusterIPs).toEqual(['None']);
    const name = spec(await make('b', { type: 'ExternalName', externalName: 'a.b' }));
    expect([name.clusterIP, name.clusterIPs, name.ipFamilies]).toEqual([undefined, undefined, undefined]);
    expect(held()).toEqual({ addresses: 0, ports: 0 });
  });

  test('come and go with the type', async () => {
    const before = spec(await make('a')).clusterIP;
    const name = spec(await change('a', { type: 'ExternalName', externalName: 'a.b' }));
    expect([name.clusterIP, name.ipFamilyPolicy, held().addresses]).toEqual([undefined, undefined, 0]);
    expect(spec(await make('b', { clusterIP: before })).clusterIP).toBe(before);
    const after = spec(await change('a', { type: 'ClusterIP' }));
    expect(after).toMatchObject({ clusterIPs: [after.clusterIP], ipFamilies: ['IPv4'] });
    expect(after.clusterIP).not.toBe(before);
    expect(held().addresses).toBe(2);
  });

  test('an allocation that fails hides what validation would say', async () => {
    expect(await message(make('b', { clusterIP: 'x', sessionAffinity: 'Foo', ports: [] }))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    );
  });
});

describe('node ports', () => {
  const nodePort: ServiceSpec = { type: 'NodePort' };
  const numbers = (entry: Entry) => spec(entry).ports!.map((port) => port.nodePort);

  test('of concurrent creates never meet, and failures cost no address', async () => {
    const made = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => make(`s${i}`, nodePort)));
    const given = made.flatMap((each) => (each.status === 'fulfilled' ? numbers(each.value) : []));
    expect(given.sort()).toEqual([30_000, 30_001, 30_002, 30_003]);
    expect(await message(make('x', nodePort))).toBe(
      '500 Internal error occurred: failed to allocate a nodePort: range is full',
    );
    expect(held()).toEqual({ addresses: 4, ports: 4 });
  });

  test('asked for by number: given, taken, outside', async () => {
    const ask = (name: string, number: number) =>
      make(name, { ...nodePort, ports: [{ port: 80, nodePort: number }] });
    expect(numbers(await ask('a', 30_001))).toEqual([30_001]);
    expect(await message(ask('b', 30_001))).toBe(
      '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
    );
    expect(await message(ask('b', 80))).toBe(
      '422 Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30003',
    );
    expect(held()).toEqual({ addresses: 1, ports: 1 });
  });

  test('are shared by ports with the same number', async () => {
    const dns = [
      { name: 'a', port: 53, protocol: 'UDP' },
      { name: 'b', port: 53, protocol: 'TCP', nodePort: 30_002 },
      { name: 'c', port: 54 },
    ];
    const [udp, tcp, other] = numbers(await make('a', { ...nodePort, ports: dns }));
    expect([udp, tcp]).toEqual([30_002, 30_002]);
    expect(other).not.toBe(30_002);
    const [first, second] = numbers(
      await make('b', {
        ...nodePort,
        ports: dns.slice(0, 2).map((port) => ({ ...port, nodePort: undefined })),
      }),
    );
    expect(first).toBe(second);
    expect(held().ports).toBe(3);
  });

  test('are kept by updates, and given back when no longer used', async () => {
    const [number] = numbers(await make('a', nodePort));
    const two = [
      { port: 80, name: 'a' },
      { port: 81, name: 'b', nodePort: number },
    ];
    const [fresh, kept] = numbers(await change('a', { ports: two }));
    expect(kept).toBe(number);
    expect(fresh).not.toBe(number);
    expect(held().ports).toBe(2);
    expect(numbers(await change('a', { ports: [{ port: 80, name: 'a' }] }))).toEqual([fresh]);
    expect(held().ports).toBe(1);
    expect(numbers(await change('a', { type: 'ClusterIP' }))).toEqual([undefined]);
    expect(held()).toEqual({ addresses: 1, ports: 0 });
    expect(numbers(await change('a', { type: 'LoadBalancer' }))[0]).toBeGreaterThanOrEqual(30_000);
    expect(held().ports).toBe(1);
  });

  test('an update that is refused or only tried takes none', async () => {
    await make('a');
    await make('b', { ...nodePort, ports: [{ port: 80, nodePort: 30_001 }] });
    expect(await message(change('a', { ...nodePort, ports: [{ port: 80, nodePort: 30_001 }] }))).toContain(
      'spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
    );
    expect(await message(change('a', { ...nodePort, sessionAffinity: 'Foo' }))).toContain('sessionAffinity');
    expect(numbers(await change('a', nodePort, true))[0]).toBeGreaterThanOrEqual(30_000);
    expect(held()).toEqual({ addresses: 2, ports: 1 });
  });

  test('a balancer can do without, and needs one more to be asked for its health', async () => {
    const bare: ServiceSpec = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false };
    expect(numbers(await make('a', bare))).toEqual([undefined]);
    const local = spec(await make('b', { ...bare, externalTrafficPolicy: 'Local' }));
    expect(local.healthCheckNodePort).toBeGreaterThanOrEqual(30_000);
    expect(held().ports).toBe(1);
    expect(
      await message(
        make('c', {
          ...bare,
          externalTrafficPolicy: 'Local',
          healthCheckNodePort: local.healthCheckNodePort,
        }),
      ),
    ).toBe(
      `500 Internal error occurred: failed to allocate requested HealthCheck NodePort ${local.healthCheckNodePort}: provided port is already allocated`,
    );
    await change('b', { externalTrafficPolicy: 'Cluster' });
    expect(held().ports).toBe(0);
    expect(spec(await change('b', { externalTrafficPolicy: 'Local' })).healthCheckNodePort).toBeTruthy();
  });
});

test('what is taken is known from the stored services alone', async () => {
  await make('a', { type: 'NodePort', clusterIP: '10.0.0.9', ports: [{ port: 80, nodePort: 30_001 }] });
  view.close();
  await open();
  expect(held()).toEqual({ addresses: 1, ports: 1 });
  expect(await message(make('b', { clusterIP: '10.0.0.9' }))).toContain('already allocated');
});

test('the endpoints of a service go with it', async () => {
  await make('a');
  const endpoints = registry.kinds.resource('v1', 'endpoints')!;
  for (const name of ['a', 'b'])
    await create(writing, asTester('create'), collectionOf(endpoints, 'default'), { metadata: { name } });
  await drop('a');
  const left = view.collection('core/endpoints');
  expect([left.get('default', 'a'), left.get('default', 'b')?.name]).toEqual([undefined, 'b']);
});

describe('IPAddress objects', () => {
  const kindOf = (resource: string) => registry.kinds.resource('networking.k8s.io/v1', resource)!;
  const addresses = () =>
    view
      .collection('networking.k8s.io/ipaddresses')
      .select(everything)
      .entries.map((entry) => entry.object() as IPAddress);
  const names = () => addresses().map(({ metadata }) => metadata.name);
  const address = (name: string) =>
    create(writing, asTester('create'), collectionOf(kindOf('ipaddresses'), ''), {
      metadata: { name },
      spec: { parentRef: { resource: 'gateways', group: 'g.example', name: 'x' } },
    } as never);
  const range = (name: string, cidr: string, status = 'True') =>
    registry.seed(asTester('create'), collectionOf(kindOf('servicecidrs'), ''), {
      metadata: { name },
      spec: { cidrs: [cidr] },
      status: { conditions: [{ type: 'Ready', status }] },
    });

  test('are there for every address in use, and for no other', async () => {
    await make('a', { clusterIP: '10.0.0.9' });
    await make('none', { clusterIP: 'None' });
    expect(addresses()).toMatchObject([
      {
        metadata: {
          name: '10.0.0.9',
          labels: {
            'ipaddress.kubernetes.io/ip-family': 'IPv4',
            'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
          },
        },
        spec: { parentRef: { resource: 'services', namespace: 'default', name: 'a' } },
      },
    ]);
    // A create that fails leaves none, as a dry run does.
    expect(await message(make('a', { clusterIP: '10.0.0.8' }))).toContain('already exists');
    await change('a', { type: 'ExternalName', externalName: 'x.y', clusterIP: undefined }, true);
    expect(names()).toEqual(['10.0.0.9']);
    await change('a', { type: 'ExternalName', externalName: 'x.y', clusterIP: undefined });
    expect(names()).toEqual([]);
    await change('a', { type: 'ClusterIP', externalName: undefined, clusterIP: '10.0.0.7' });
    expect(names()).toEqual(['10.0.0.7']);
    await drop('a');
    expect(names()).toEqual([]);
    expect(held().addresses).toBe(0);
  });

  test('many services at once have one each', async () => {
    await Promise.all(Array.from({ length: 12 }, (_, i) => make(`s${i}`)));
    expect(new Set(names()).size).toBe(12);
    await Promise.all(Array.from({ length: 12 }, (_, i) => drop(`s${i}`)));
    expect(names()).toEqual([]);
  });

  test('of other programs take their address', async () => {
    await address('10.0.0.9');
    expect(await message(make('a', { clusterIP: '10.0.0.9' }))).toContain('provided IP is already allocated');
    // One of them gets the address when both are asked for at the same time.
    const both = await Promise.allSettled([make('b', { clusterIP: '10.0.0.5' }), address('10.0.0.5')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(names().filter((name) => name === '10.0.0.5')).toHaveLength(1);
  });

  test('come from all ranges that are ready', async () => {
    await range('kubernetes', '10.0.0.0/28');
    await range('more', '10.9.0.0/29');
    await range('late', '10.8.0.0/28', 'False');
    expect(spec(await make('a', { clusterIP: '10.9.0.3' })).clusterIP).toBe('10.9.0.3');
    expect(await message(make('b', { clusterIP: '10.8.0.3' }))).toContain(
      'the provided network does not match the current range',
    );
    // The first range is used up before the second is touched: thirteen and five are left.
    for (let i = 0; i < 13; i++) expect(spec(await make(`s${i}`)).clusterIP).toMatch(/^10\.0\.0\./);
    for (let i = 0; i < 5; i++) expect(spec(await make(`t${i}`)).clusterIP).toMatch(/^10\.9\.0\./);
    expect(await message(make('full'))).toContain('range is full');
  });
});
