/** Proves that hand-made Endpoints of services without a selector become slices, and that these follow them. */
import { expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Event } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { sliceId } from '../../registry/system/service-slices.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

useHarness();

const service = (name: string, selector?: object) =>
  harness.seed('v1', 'services', 'default', {
    metadata: { name },
    spec: { selector, ports: [{ port: 80 }] },
  });
const endpoints = (name: string, subsets: object[], metadata: object = {}) =>
  harness.seed('v1', 'endpoints', 'default', { metadata: { name, ...metadata }, subsets });
const subset = (ip: string, port = 80) => ({
  addresses: [{ ip }],
  ports: [{ name: `p${port}`, port, protocol: 'TCP' }],
});
const slices = (): EndpointSlice[] => harness.all(sliceId).map((entry) => entry.object() as EndpointSlice);
const change = (entry: Entry, edit: (object: Endpoints) => void) =>
  modify(harness.writing, asTester('update'), targetOf(entry, 'whole'), (current) => {
    const object = current.object() as Endpoints;
    edit(object);
    return object;
  });

async function run(): Promise<void> {
  harness.start(['endpointslicemirroring']);
  await harness.settled();
}

it('mirrors addresses of both families, ready or not, with what they carry', async () => {
  await service('web');
  const targetRef = { kind: 'Pod', namespace: 'default', name: 'p' };
  const { uid } = await endpoints(
    'web',
    [
      {
        addresses: [{ ip: '10.1.1.1', nodeName: 'n1', hostname: 'h', targetRef }, { ip: 'fd00::1' }],
        notReadyAddresses: [{ ip: '10.1.1.2' }],
        ports: [{ name: 'a', port: 80, protocol: 'TCP', appProtocol: 'http' }],
      },
    ],
    {
      labels: { team: 'a' },
      annotations: {
        note: 'x',
        'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-02T03:04:05Z',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
      },
    },
  );
  await run();
  const [four, six] = slices().sort((a, b) => (a.addressType! < b.addressType! ? -1 : 1));
  expect(four).toMatchObject({
    addressType: 'IPv4',
    metadata: {
      generateName: 'web-',
      labels: {
        team: 'a',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      ownerReferences: [{ kind: 'Endpoints', name: 'web', uid, controller: true, blockOwnerDeletion: true }],
    },
    ports: [{ name: 'a', port: 80, protocol: 'TCP', appProtocol: 'http' }],
  });
  expect(four!.metadata.annotations).toEqual({ note: 'x' });
  expect(four!.endpoints).toEqual([
    { addresses: ['10.1.1.1'], conditions: { ready: true }, nodeName: 'n1', hostname: 'h', targetRef },
    { addresses: ['10.1.1.2'], conditions: { ready: false } },
  ]);
  expect(six!.endpoints).toEqual([{ addresses: ['fd00::1'], conditions: { ready: true } }]);
});

it('joins subsets whose addresses are the same, and follows changes', async () => {
  await service('web');
  const entry = await endpoints('web', [
    subset('10.1.1.1', 80),
    subset('10.1.1.1', 81),
    subset('10.1.1.2', 80),
  ]);
  await run();
  const content = () =>
    slices()
      .map(({ endpoints = [], ports = [] }) => [
        endpoints.flatMap(({ addresses = [] }) => addresses).sort(),
        ports.map(({ port }) => port).sort(),
      ])
      .sort();
  expect(content()).toEqual([
    [['10.1.1.1'], [80, 81]],
    [['10.1.1.2'], [80]],
  ]);
  await change(entry, (object) => {
    object.subsets = [subset('10.1.1.2', 80), subset('10.1.1.3', 80)];
  });
  await harness.settled();
  expect(content()).toEqual([[['10.1.1.2', '10.1.1.3'], [80]]]);
  await change(entry, (object) => {
    object.metadata.labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
  });
  await harness.settled();
  expect(slices()).toEqual([]);
});

it('gives an address several slices when its ports have the same name', async () => {
  await service('web');
  const unnamed = (ip: string, ...ports: object[]) => ({ addresses: [{ ip }], ports });
  await endpoints('web', [
    unnamed('10.1.1.1', { port: 80 }),
    unnamed('10.1.1.1', { port: 81 }, { name: 'a', port: 90 }),
    unnamed('10.1.1.2', { port: 81 }),
    { addresses: [{ ip: '10.1.1.3' }] },
  ]);
  await run();
  const content = slices().map(({ endpoints = [], ports }) => [
    endpoints.flatMap(({ addresses = [] }) => addresses),
    (ports ?? []).map(({ name, port }) => `${name}:${port}`),
  ]);
  expect(content.sort((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
    [['10.1.1.1', '10.1.1.2'], [':81']],
    [['10.1.1.1'], [':80', 'a:90']],
    [['10.1.1.3'], []],
  ]);
});

it('mirrors only what is for a service without a selector, and removes the rest', async () => {
  await service('chosen', { app: 'x' });
  for (const name of ['chosen', 'alone']) await endpoints(name, [subset('10.1.1.1')]);
  await service('leader');
  await endpoints('leader', [subset('10.1.1.1')], {
    annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' },
  });
  const web = await service('web');
  await endpoints('web', [subset('10.1.1.1')]);
  await run();
  expect(slices().map(({ metadata }) => metadata.generateName)).toEqual(['web-']);
  // Nothing remains when the service goes.
  await remove(harness.writing, asTester('delete'), targetOf(web), {});
  await harness.settled();
  expect(slices()).toEqual([]);
});

it('says what it leaves out', async () => {
  await service('web');
  const many = Array.from({ length: 1_002 }, (_, i) => ({ ip: `10.1.${i >> 8}.${i & 255}` }));
  await endpoints('web', [
    { addresses: [...many, { ip: 'nowhere' }], ports: [{ port: 80, protocol: 'TCP' }] },
  ]);
  await run();
  expect(slices().map(({ endpoints }) => endpoints?.length)).toEqual([1_000]);
  const said = harness.all('core/events').map((entry) => entry.object() as unknown as Event);
  expect(said.map(({ reason, message }) => `${reason}: ${message}`).sort()).toEqual([
    'InvalidIPAddress: Skipped 1 invalid IP addresses when mirroring to EndpointSlices',
    'TooManyAddressesToMirror: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped',
  ]);
  expect(said[0]!.source?.component).toBe('endpoint-slice-mirroring-controller');
});
