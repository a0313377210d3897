/** The kubernetes service and its endpoints exist from the start, and are restored when deleted or changed. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../api/generated/types.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { admissionChain } from '../admission/plugins.ts';
import { parseIPRanges } from '../allocation/ip-allocator.ts';
import { parsePortRange } from '../allocation/port-allocator.ts';
import { ServiceAllocator } from '../allocation/service-allocation.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import { collectionOf, targetOf } from '../target.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { modify } from '../verbs/modify.ts';
import { everything } from '../view/filter.ts';
import { View } from '../view/view.ts';
import { makeWriting, type Writing } from '../writing.ts';
import { endpointsRemoval } from './endpoints-removal.ts';
import { KubernetesService } from './kubernetes-service.ts';
import { KubernetesSlices } from './kubernetes-slices.ts';
import { ensureSystemNamespaces } from './system-namespaces.ts';

let store: Store;
let view: View;
let registry: Registry;
let writing: Writing;
let kubernetes: KubernetesService;
let errors: Error[];
let uid = 0;

async function open(range: string, port: number): Promise<void> {
  const kinds = new KindTable();
  view = await View.open(store, kinds);
  const allocator = new ServiceAllocator(view, {
    addresses: parseIPRanges(range)!,
    nodePorts: parsePortRange('30000-30003')!,
  });
  const sources = {
    nowMs: () => Date.now(),
    uid: () => `00000000-0000-4000-8000-${String(++uid).padStart(12, '0')}`,
    randomBelow: () => 0,
  };
  writing = makeWriting(store, view, kinds, sources, {
    admission: admissionChain,
    allocators: [allocator],
    removals: [endpointsRemoval],
  });
  ({ registry } = writing);
  await ensureSystemNamespaces(writing);
  errors = [];
  kubernetes = new KubernetesService(
    writing,
    { clusterIP: allocator.firstIP, ip: '127.0.0.1', port },
    (error) => errors.push(error),
  );
  await kubernetes.start();
}

beforeEach(async () => {
  store = openMemoryStore();
  await open('10.0.0.0/28', 8080);
});

afterEach(async () => {
  await kubernetes.close();
  view.close();
  await store.close();
});

const kind = (resource: string) => registry.kinds.resource('v1', resource)!;
const found = <T>(resource: string): T =>
  view.collection(kind(resource)).get('default', 'kubernetes')?.object() as T;
const slices = (): EndpointSlice[] =>
  view
    .collection('discovery.k8s.io/endpointslices')
    .select(everything)
    .entries.map((entry) => entry.object() as EndpointSlice);
const drop = (resource: string) =>
  remove(
    writing,
    asTester('delete'),
    { kind: kind(resource), namespace: 'default', name: 'kubernetes', part: 'main' },
    {},
  );

test('what they say', () => {
  const service = found<Service>('services');
  expect(service.metadata.labels).toEqual({ component: 'apiserver', provider: 'kubernetes' });
  expect(service.spec).toEqual({
    ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 8080 }],
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  });
  const endpoints = found<Endpoints>('endpoints');
  expect(endpoints.metadata.labels).toEqual({ 'endpointslice.kubernetes.io/skip-mirror': 'true' });
  expect(endpoints.subsets).toEqual([
    { addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port: 8080, protocol: 'TCP' }] },
  ]);
  const slice = slices()[0]!;
  expect(slice.metadata.labels).toEqual({ 'kubernetes.io/service-name': 'kubernetes' });
  expect(slice.metadata.ownerReferences).toBeUndefined();
  expect(slice).toMatchObject({
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 8080, protocol: 'TCP' }],
  });
});

test('the slice comes back, too, and follows the port', async () => {
  const entry = view.collection('discovery.k8s.io/endpointslices').get('default', 'kubernetes')!;
  await remove(writing, asTester('delete'), targetOf(entry), {});
  await kubernetes.restore();
  expect(slices()).toHaveLength(1);
  await kubernetes.close();
  view.close();
  await open('10.0.0.0/28', 9090);
  expect(slices().map(({ metadata, ports }) => [metadata.name, ports![0]!.port])).toEqual([
    ['kubernetes', 9090],
  ]);
  expect(errors).toEqual([]);
});

test('nothing is written when nothing has changed', async () => {
  const before = view.revision;
  await kubernetes.restore();
  expect(view.revision).toBe(before);
});

test('deleted, they come back', async () => {
  const before = found<Service>('services');
  // The endpoints are deleted with the service.
  await drop('services');
  expect(found('endpoints')).toBeUndefined();
  await kubernetes.restore();
  expect(found<Service>('services').spec).toEqual(before.spec);
  await drop('endpoints');
  await kubernetes.restore();
  expect(found<Endpoints>('endpoints').subsets).toHaveLength(1);
  expect(errors).toEqual([]);
});

test('changed, they are put right, and what else they carry stays', async () => {
  const write = (resource: string, change: (object: Service & Endpoints) => void) =>
    modify(
      writing,
      asTester('update'),
      { kind: kind(resource), namespace: 'default', name: 'kubernetes', part: 'whole' },
      (current) => {
        const object = current.object() as Service & Endpoints;
        object.metadata.labels = { mine: 'too' };
        change(object);
        return object;
      },
    );
  const before = found<Service>('services').spec;
  await write('services', (service) => {
    service.spec = {
      ...service.spec,
      selector: { a: 'b' },
      ports: [{ port: 1, targetPort: 1, protocol: 'TCP' }],
    };
  });
  await write('endpoints', (endpoints) => {
    endpoints.subsets = [];
  });
  await kubernetes.restore();
  expect(found<Service>('services').spec).toEqual(before);
  expect(found<Service>('services').metadata.labels).toEqual({
    mine: 'too',
    component: 'apiserver',
    provider: 'kubernetes',
  });
  expect(found<Endpoints>('endpoints').subsets).toHaveLength(1);
  expect(found<Endpoints>('endpoints').metadata.labels).toMatchObject({ mine: 'too' });
  expect(errors).toEqual([]);
});

test('another port or another range is followed at the next start', async () => {
  await kubernetes.close();
  view.close();
  await open('10.0.0.0/28', 9090);
  expect(found<Service>('services').spec!.ports![0]!.targetPort).toBe(9090);
  expect(found<Endpoints>('endpoints').subsets![0]!.ports![0]!.port).toBe(9090);
  await kubernetes.close();
  view.close();
  await open('10.9.0.0/28', 9090);
  expect(found<Service>('services').spec!.clusterIP).toBe('10.9.0.1');
  expect(found<Endpoints>('endpoints').subsets).toHaveLength(1);
  expect(errors).toEqual([]);
});

test('servers that make them at the same time do not complain of each other', async () => {
  await kubernetes.close();
  await drop('services');
  const advertised = { clusterIP: '10.0.0.1', ip: '127.0.0.1', port: 8080 };
  const both = [1, 2].map(() => new KubernetesService(writing, advertised, (error) => errors.push(error)));
  await Promise.all(both.map((one) => one.start()));
  expect(errors).toEqual([]);
  expect(found<Service>('services').spec!.clusterIP).toBe('10.0.0.1');
  expect(found<Endpoints>('endpoints').subsets).toHaveLength(1);
  await Promise.all(both.map((one) => one.close()));
});

test('an address that another service holds is reported, not taken away', async () => {
  const spec = { clusterIP: '10.0.0.9', ports: [{ port: 80 }] };
  await create(writing, asTester('create'), collectionOf(kind('services'), 'default'), {
    metadata: { name: 'a' },
    spec,
  });
  await kubernetes.close();
  view.close();
  await open('10.0.0.8/29', 8080);
  expect(errors.map((error) => error.message)).toEqual([
    'Service "kubernetes" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: provided IP is already allocated',
  ]);
  await remove(
    writing,
    asTester('delete'),
    { kind: kind('services'), namespace: 'default', name: 'a', part: 'main' },
    {},
  );
  await kubernetes.restore();
  expect(found<Service>('services').spec!.clusterIP).toBe('10.0.0.9');
});

test('slices of servers that have gone are removed by all others at once', async () => {
  const live = { ip: '10.1.0.1', port: 8080 };
  const made = (): KubernetesSlices => new KubernetesSlices(writing, asTester);
  await made().restore([live, { ip: '10.1.0.2', port: 8081 }]);
  expect(slices().map(({ metadata }) => metadata.name)).toEqual(['kubernetes', 'kubernetes-8081']);
  await Promise.all([made().restore([live]), made().restore([live])]);
  expect(slices().map(({ metadata }) => metadata.name)).toEqual(['kubernetes']);
});
