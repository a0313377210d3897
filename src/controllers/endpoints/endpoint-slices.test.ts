/** Proves what the slices of services hold, and that they follow services, pods, nodes and other writers. */
import { describe, expect, it, vi } from 'vitest';
import type { EndpointSlice } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { sliceId } from '../../registry/system/service-slices.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

useHarness();

const service = (name: string, spec: object = {}, metadata: object = {}) =>
  harness.seed('v1', 'services', 'default', {
    metadata: { name, ...metadata },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.9',
      clusterIPs: ['10.0.0.9'],
      ipFamilies: ['IPv4'],
      selector: { app: 'web' },
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
      ...spec,
    },
  });

const node = (name: string, zone?: string) =>
  harness.seed('v1', 'nodes', '', {
    metadata: { name, labels: zone ? { 'topology.kubernetes.io/zone': zone } : {} },
  });

interface PodShape {
  readonly ready?: boolean;
  readonly node?: string;
  readonly spec?: object;
  readonly phase?: string;
  readonly container?: object;
}

const pod = (i: number, { ready = true, node = 'n1', spec, phase = 'Running', container }: PodShape = {}) =>
  harness.seed('v1', 'pods', 'default', {
    metadata: { name: `p${i}`, labels: { app: 'web' } },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'i:1', ...container }], ...spec },
    status: {
      phase,
      podIPs: [{ ip: `10.2.${i >> 8}.${i & 255}` }],
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-02T03:04:05Z' },
      ],
    },
  });

const slices = (): EndpointSlice[] => harness.all(sliceId).map((entry) => entry.object() as EndpointSlice);
const only = (): EndpointSlice => {
  expect(slices()).toHaveLength(1);
  return slices()[0]!;
};
const sizes = (): number[] => slices().map(({ endpoints }) => endpoints?.length ?? 0);

const change = (entry: Entry, edit: (object: never) => void) =>
  modify(harness.writing, asTester('update'), targetOf(entry, 'whole'), (current) => {
    const object = current.object();
    edit(object as never);
    return object;
  });
const drop = (entry: Entry, gracePeriodSeconds = 0) =>
  remove(harness.writing, asTester('delete'), targetOf(entry), { gracePeriodSeconds });

async function run(...controllers: string[]): Promise<void> {
  harness.start(['endpointslice', ...controllers]);
  await harness.settled();
}

describe('slices of a service', () => {
  it('have its pods with their conditions, node and zone, and carry its name and labels', async () => {
    await node('n1', 'west');
    const { uid } = await service(
      'web',
      {},
      {
        labels: { team: 'a', 'endpointslice.kubernetes.io/managed-by': 'me' },
      },
    );
    const first = await pod(1, { spec: { hostname: 'one', subdomain: 'web' } });
    await pod(2, { ready: false });
    await pod(3, { phase: 'Succeeded' });
    await pod(4, { node: 'unknown' });
    await run();
    const slice = only();
    expect(slice).toMatchObject({
      addressType: 'IPv4',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      metadata: {
        name: expect.stringMatching(/^web-.{5}$/),
        generateName: 'web-',
        labels: {
          team: 'a',
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': expect.any(String) },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Service', name: 'web', uid, controller: true, blockOwnerDeletion: true },
        ],
      },
    });
    expect(slice.metadata.labels).not.toHaveProperty('service.kubernetes.io/headless');
    expect(slice.endpoints).toEqual([
      {
        addresses: ['10.2.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: 'one',
        targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid: first.uid },
        nodeName: 'n1',
        zone: 'west',
      },
      expect.objectContaining({ conditions: { ready: false, serving: false, terminating: false } }),
    ]);
    // A node that comes, or moves to another zone, is followed.
    await node('unknown');
    await harness.settled();
    expect(sizes()).toEqual([3]);
    const [n1] = harness.all('core/nodes').filter(({ name }) => name === 'n1');
    await change(n1!, ({ metadata }: { metadata: { labels: object } }) => {
      metadata.labels = { 'topology.kubernetes.io/zone': 'east' };
    });
    await harness.settled();
    expect(only().endpoints?.map(({ zone }) => zone)).toEqual(['east', 'east', undefined]);
  });

  it('keep pods that are being deleted, which are no longer ready', async () => {
    await node('n1');
    await service('web');
    const going = await pod(1);
    await run();
    await drop(going, 30);
    await harness.settled();
    expect(only().endpoints).toMatchObject([
      { addresses: ['10.2.0.1'], conditions: { ready: false, serving: true, terminating: true } },
    ]);
  });

  it('publish pods that are not ready where the service says so, with its host names', async () => {
    await service('web', { publishNotReadyAddresses: true, clusterIP: 'None', clusterIPs: ['None'] });
    await pod(1, { ready: false, node: 'unknown' });
    await run();
    expect(only().endpoints).toMatchObject([{ conditions: { ready: true, serving: false } }]);
    expect(only().metadata.labels).toMatchObject({ 'service.kubernetes.io/headless': '' });
  });

  it('are empty for a service without pods, and there are none without a selector', async () => {
    await service('web');
    await service('bare', { selector: undefined, clusterIP: '10.0.0.8', clusterIPs: ['10.0.0.8'] });
    await service('away', { type: 'ExternalName', externalName: 'a.b', clusterIP: undefined });
    await run();
    expect(only()).toMatchObject({ metadata: { labels: { 'kubernetes.io/service-name': 'web' } } });
    expect([only().endpoints ?? [], only().ports ?? []]).toEqual([[], []]);
    await node('n1');
    const one = await pod(1);
    await harness.settled();
    // The empty slice is filled, and emptied again.
    expect(sizes()).toEqual([1]);
    await drop(one);
    await harness.settled();
    expect([sizes(), only().ports ?? []]).toEqual([[0], []]);
  });

  it('are several where named ports differ, and have at most a hundred endpoints', async () => {
    await node('n1');
    await service('web', { ports: [{ name: 'http', port: 80, targetPort: 'h', protocol: 'TCP' }] });
    const named = (port: number) => ({ ports: [{ name: 'h', containerPort: port, protocol: 'TCP' }] });
    for (let i = 0; i < 105; i++) await pod(i, { container: named(8080) });
    await pod(200, { container: named(9090) });
    await pod(201);
    await run();
    const found = slices().map(({ ports, endpoints }) => [ports?.[0]?.port, endpoints?.length]);
    expect(found.sort()).toEqual([
      [undefined, 1],
      [8080, 100],
      [8080, 5],
      [9090, 1],
    ]);
  });

  it('carry hints where traffic should stay near', async () => {
    await node('n1', 'west');
    await service('web', { trafficDistribution: 'PreferSameNode' });
    await pod(1);
    await pod(2, { ready: false });
    await run();
    expect(only().endpoints!.map(({ hints }) => hints)).toEqual([
      { forZones: [{ name: 'west' }], forNodes: [{ name: 'n1' }] },
      undefined,
    ]);
    const [web] = harness.all('core/services');
    await change(web!, ({ spec }: { spec: { trafficDistribution?: string } }) => {
      delete spec.trafficDistribution;
    });
    await harness.settled();
    expect(only().endpoints!.map(({ hints }) => hints)).toEqual([undefined, undefined]);
  });

  it('come back when another writer changes or deletes them, and leave other slices alone', async () => {
    await node('n1');
    await service('web');
    await pod(1);
    await harness.seed('discovery.k8s.io/v1', 'endpointslices', 'default', {
      metadata: { name: 'mine', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.9.9.9'] }],
    });
    await run();
    const own = () => harness.all(sliceId).filter(({ name }) => name !== 'mine');
    expect(own()).toHaveLength(1);
    const before = own()[0]!;
    await change(before, (slice: EndpointSlice) => {
      slice.endpoints = [];
      slice.metadata.labels = { ...slice.metadata.labels, extra: 'x' };
    });
    await harness.settled();
    const restored = own()[0]!.object() as EndpointSlice;
    expect([restored.endpoints?.length, restored.metadata.labels?.extra]).toEqual([1, undefined]);
    await drop(own()[0]!);
    await vi.waitFor(() => expect(own()).toHaveLength(1), { timeout: 60_000 });
    await harness.settled();
    expect(own()[0]!.uid).not.toBe(before.uid);
    expect(harness.all(sliceId).some(({ name }) => name === 'mine')).toBe(true);
  });

  it('go with their service, and a new one of its name starts without them', async () => {
    await node('n1');
    const web = await service('web');
    await pod(1);
    await run('garbagecollector');
    const [old] = harness.all(sliceId);
    await drop(web);
    await service('web');
    await harness.settled();
    await vi.waitFor(
      () => {
        expect(slices()).toHaveLength(1);
        expect(harness.all(sliceId)[0]!.uid).not.toBe(old!.uid);
      },
      { timeout: 60_000 },
    );
  });

  it('are at rest when all is as it should be', async () => {
    await node('n1');
    await service('web');
    for (let i = 0; i < 3; i++) await pod(i);
    await run();
    const { revision } = harness.registry.view;
    await harness.stop();
    await run();
    expect(harness.registry.view.revision).toBe(revision);
  });
});
