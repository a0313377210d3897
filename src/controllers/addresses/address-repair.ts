/**
 * Repairs IPAddress objects: each cluster IP of a service has one that refers to the service, and no IPAddress stays
 * without its service. They are written together with services, so a repair is needed only after a crash, an upgrade of
 * an older cluster, or when a user has deleted or changed one.
 */

import type { IPAddress, Service, ServiceCIDR } from '../../api/generated/types.ts';
import { hasClusterIP, isHeadless } from '../../api/rules/service/service-type.ts';
import { parseIP } from '../../api/values/addresses.ts';
import type { EventRecorder } from '../../client/events.ts';
import {
  addressId,
  addressManager,
  managedByLabel,
  parentKeyOf,
  plantAddress,
  removeAddress,
} from '../../registry/allocation/address-objects.ts';
import { canonicalAddress } from '../../registry/allocation/cluster-addresses.ts';
import { rangeId, rangesOf } from '../../registry/allocation/service-ranges.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { memberKey } from '../../registry/view/key.ts';
import {
  type Controller,
  fromKey,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { WorkQueue } from '../shared/work-queue.ts';

/** Delay before a repair: an address and its service are written at the same time, and both must have been seen. */
const settleMs = 2_000;
/** An object without its service is left alone for this long: the service may be about to be written. */
const leakedMs = 60_000;

export const addressRepairController: Controller = {
  name: 'addressrepair',
  housekeeping: true,
  writer: 'kube-apiserver',
  start: (context) => new AddressKeeper(context).start(),
};

const clusterIPsOf = ({ spec = {} }: Service): readonly string[] =>
  hasClusterIP(spec) && !isHeadless(spec)
    ? (spec.clusterIPs ?? []).flatMap((ip) => canonicalAddress(ip) ?? [])
    : [];

class AddressKeeper {
  readonly #recorder: EventRecorder;
  readonly #services: WorkQueue;
  readonly #addresses: WorkQueue;
  /**
   * Services that existed at the start: an older version made no IPAddresses for them, so a missing one is not
   * reported.
   */
  readonly #first = new Set<string>();

  constructor(private readonly context: SharedContext) {
    const onError = (_key: string, error: Error): void => context.onError(error);
    this.#recorder = recorderFor(context, 'ipallocator-repair-controller');
    this.#services = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#checkService(key),
      onError,
    });
    this.#addresses = new WorkQueue({
      timers: context.registry.timers,
      work: (ip) => this.#checkAddress(ip),
      onError,
    });
  }

  start(): RunningController {
    for (const { namespace, name } of this.#all('core/services')) this.#first.add(keyOf(namespace, name));
    const observations = [
      observe(this.context, 'core/services', (entry, previous) => this.#serviceChanged(entry, previous)),
      observe(this.context, addressId, (entry, previous) => this.#addressChanged(entry, previous)),
    ];
    return running(observations, [this.#services, this.#addresses], this.#recorder);
  }

  #all(id: 'core/services' | typeof rangeId): readonly Entry[] {
    return this.context.registry.view.collection(id).select(everything).entries;
  }

  #serviceChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const now = entry ? clusterIPsOf(entry.peek() as Service) : [];
    const before = previous ? clusterIPsOf(previous.peek() as Service) : [];
    if (entry && now.join() !== before.join())
      this.#services.addAfter(keyOf(entry.namespace, entry.name), settleMs);
    for (const ip of before) if (!now.includes(ip)) this.#addresses.addAfter(ip, settleMs);
  }

  #addressChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { name } = (entry ?? previous)!;
    if (entry) return this.#addresses.addAfter(name, leakedMs);
    const { namespace = '', name: service = '' } = (previous!.peek() as IPAddress).spec?.parentRef ?? {};
    if (parentKeyOf(previous!) !== undefined) this.#services.addAfter(keyOf(namespace, service), settleMs);
  }

  async #checkService(key: string): Promise<void> {
    const { registry } = this.context;
    await registry.view.caughtUp();
    const silent = this.#first.delete(key);
    const [namespace, name] = fromKey(key);
    const service = registry.view.collection('core/services').get(namespace, name)?.object() as
      | Service
      | undefined;
    if (!service) return;
    for (const ip of clusterIPsOf(service)) {
      const family = parseIP(ip)?.family === 6 ? 'IPv6' : 'IPv4';
      if (!this.#isInRange(ip))
        this.#recorder.warning(
          service,
          'ClusterIPOutOfRange',
          `Cluster IP [${family}]: ${ip} is not within any configured Service CIDR; please recreate service`,
        );
      const known = registry.view.collection(addressId).get('', ip);
      if (known && parentKeyOf(known) === memberKey(namespace, name)) continue;
      // One that refers to something else is replaced.
      if (known && this.#hasOwner(known)) continue;
      if (known) await removeAddress(registry, known);
      if ((await plantAddress(registry, ip, { namespace, name })) && !silent)
        this.#recorder.warning(
          service,
          'ClusterIPNotAllocated',
          `Cluster IP [${family}]: ${ip} is not allocated; repairing`,
        );
    }
  }

  #isInRange(ip: string): boolean {
    const address = parseIP(ip);
    return this.#all(rangeId).some((entry) =>
      rangesOf(entry.peek() as ServiceCIDR).some(
        ({ family, first, last }) =>
          family === address?.family && address.value >= first && address.value <= last,
      ),
    );
  }

  /** Whether an IPAddress belongs to an existing service, or was not made by the allocator. */
  #hasOwner(entry: Entry): boolean {
    if (entry.labels?.[managedByLabel] !== addressManager) return true;
    const { namespace = '', name = '' } = (entry.peek() as IPAddress).spec?.parentRef ?? {};
    const service = this.context.registry.view.collection('core/services').get(namespace, name);
    return service !== undefined && clusterIPsOf(service.peek() as Service).includes(entry.name);
  }

  async #checkAddress(ip: string): Promise<void> {
    const { registry } = this.context;
    await registry.view.caughtUp();
    const entry = registry.view.collection(addressId).get('', ip);
    if (!entry || this.#hasOwner(entry)) return;
    const object = entry.object() as IPAddress;
    const bornMs = Date.parse(object.metadata.creationTimestamp ?? '');
    const leftMs = bornMs + leakedMs - registry.sources.nowMs();
    if (leftMs > 0) return this.#addresses.addAfter(ip, leftMs);
    const { namespace, name } = object.spec?.parentRef ?? {};
    await removeAddress(registry, entry);
    this.#recorder.warning(
      object,
      'IPAddressNotAllocated',
      `IPAddress: ${ip} for Service ${namespace}/${name} appears to have leaked: cleaning up`,
    );
  }
}
