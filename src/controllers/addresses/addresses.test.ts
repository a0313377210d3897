/** Proves that ranges are made ready and let go in time, and that addresses and services are kept together. */
import { describe, expect, it, vi } from 'vitest';
import type { Event, IPAddress, ServiceCIDR } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { systemTimers } from '../../timers.ts';
import { harness, useHarness } from '../shared/harness.fixture.ts';

useHarness();

const group = 'networking.k8s.io/v1';
const range = (name: string, ...cidrs: string[]) =>
  harness.seed(group, 'servicecidrs', '', { metadata: { name }, spec: { cidrs } });
const address = (ip: string, service: string, metadata: object = {}) =>
  harness.seed(group, 'ipaddresses', '', {
    metadata: {
      name: ip,
      labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' },
      ...metadata,
    },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: service } },
  });
const service = (name: string, clusterIP: string) =>
  harness.seed('v1', 'services', 'default', {
    metadata: { name },
    spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80 }] },
  });
const drop = (entry: Entry) => remove(harness.writing, asTester('delete'), targetOf(entry), {});
const ranges = () =>
  harness.all('networking.k8s.io/servicecidrs').map((entry) => entry.object() as ServiceCIDR);
const addresses = () =>
  harness.all('networking.k8s.io/ipaddresses').map((entry) => entry.object() as IPAddress);
const said = () =>
  harness
    .all('core/events')
    .map((entry) => entry.object() as unknown as Event)
    .map(({ reason, message }) => `${reason}: ${message}`);
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

/** Lets the time of the cluster go faster: what takes ten seconds there takes a fifth of one here. */
function hurry(aheadMs = 0): void {
  const speed = 50;
  const { registry } = harness;
  const begunMs = performance.now();
  const beginMs = registry.sources.nowMs() + aheadMs;
  const goneMs = (): number => Math.floor((performance.now() - begunMs) * speed);
  vi.spyOn(registry.sources, 'nowMs').mockImplementation(() => beginMs + goneMs());
  const { timers } = registry;
  vi.spyOn(timers, 'nowMs').mockImplementation(goneMs);
  vi.spyOn(timers, 'set').mockImplementation((callback, delayMs) =>
    systemTimers.set(callback, delayMs / speed),
  );
  vi.spyOn(timers, 'repeat').mockImplementation((callback, intervalMs) =>
    systemTimers.repeat(callback, intervalMs / speed),
  );
}

describe('ranges', () => {
  it('are made ready, and held by a finalizer', async () => {
    await range('more', '10.9.0.0/24');
    harness.start(['servicecidr']);
    await harness.settled();
    expect(ranges()[0]).toMatchObject({
      metadata: { finalizers: ['networking.k8s.io/service-cidr-finalizer'] },
      status: {
        conditions: [{ type: 'Ready', status: 'True', message: 'Kubernetes Service CIDR is ready' }],
      },
    });
  });

  it('stay while addresses need them, and go some seconds after nothing does', async () => {
    const more = await range('more', '10.9.0.0/24');
    const used = await address('10.9.0.7', 'web');
    hurry();
    harness.start(['servicecidr']);
    await harness.settled();
    await drop(more);
    await harness.settled();
    expect(ranges()[0]!.status!.conditions).toMatchObject([
      {
        status: 'False',
        reason: 'Terminating',
        message:
          'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
      },
    ]);
    await drop(used);
    await eventually(() => expect(ranges()).toEqual([]));
  });

  it('may go when another one has their addresses', async () => {
    await range('wide', '10.9.0.0/16');
    const more = await range('more', '10.9.0.0/24');
    await address('10.9.0.7', 'web');
    hurry();
    harness.start(['servicecidr']);
    await harness.settled();
    await drop(more);
    await eventually(() => expect(ranges().map(({ metadata }) => metadata.name)).toEqual(['wide']));
  });
});

describe('addresses', () => {
  it('are made for services that have none, silently for those of an older version', async () => {
    await range('kubernetes', '10.0.0.0/24');
    await service('old', '10.0.0.7');
    hurry();
    harness.start(['addressrepair']);
    await eventually(() => expect(addresses().map(({ metadata }) => metadata.name)).toEqual(['10.0.0.7']));
    expect(said()).toEqual([]);
    await drop(harness.all('networking.k8s.io/ipaddresses')[0]!);
    await service('far', '10.7.7.7');
    await eventually(() => expect(addresses()).toHaveLength(2));
    await eventually(() =>
      expect(said().sort()).toEqual([
        'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.0.0.7 is not allocated; repairing',
        'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.7.7.7 is not allocated; repairing',
        'ClusterIPOutOfRange: Cluster IP [IPv4]: 10.7.7.7 is not within any configured Service CIDR; please recreate service',
      ]),
    );
  });

  it('are removed when their service is gone for long, and others stay', async () => {
    await range('kubernetes', '10.0.0.0/24');
    const web = await service('web', '10.0.0.7');
    // A planted object is a minute old in the eyes of the controller when the clock says so.
    await address('10.0.0.7', 'web');
    await harness.seed(group, 'ipaddresses', '', {
      metadata: { name: '10.0.0.8' },
      spec: { parentRef: { group: 'g.example', resource: 'gateways', name: 'x' } },
    });
    hurry(120_000);
    harness.start(['addressrepair']);
    await drop(web);
    await eventually(() => expect(addresses().map(({ metadata }) => metadata.name)).toEqual(['10.0.0.8']));
    await eventually(() =>
      expect(said()).toEqual([
        'IPAddressNotAllocated: IPAddress: 10.0.0.7 for Service default/web appears to have leaked: cleaning up',
      ]),
    );
  });
});
