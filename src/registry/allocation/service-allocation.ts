/**
 * Service allocation: cluster IPs and node ports.
 *
 * A value is taken when a stored service holds it; an address also when there is an IPAddress of its name. The pools here
 * are derived from the view, plus the reservations of writes under way in this process. So there is nothing to repair
 * after a crash: a value that was reserved and not stored is free, because no service holds it.
 *
 * Reservations are known to this process alone. Where several servers share the store, a write that takes values holds
 * a lock of its server until it is stored (`allocation.ts`).
 */

import { alreadyExists, internal, invalid as invalidObject } from '../../api/errors/errors.ts';
import { index, invalid } from '../../api/errors/field-error.ts';
import type { Service, ServicePort, ServiceSpec } from '../../api/generated/types.ts';
import { type Family, settleFamilies, validateAddresses } from '../../api/rules/service/service-addresses.ts';
import { nodePortsOf } from '../../api/rules/service/service-ports.ts';
import {
  hasClusterIP,
  hasHealthCheckPort,
  hasNodePorts,
  isHeadless,
  wantsNodePorts,
} from '../../api/rules/service/service-type.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { AddressRange } from '../../api/values/addresses.ts';
import type { Admission } from '../admission-chain.ts';
import type { Allocator } from '../allocator.ts';
import type { Registry } from '../registry.ts';
import { type Place, subresourceOf, type Target } from '../target.ts';
import { check } from '../validation.ts';
import { Follower } from '../view/follower.ts';
import type { View } from '../view/view.ts';
import { AddressObjects, addressId } from './address-objects.ts';
import { ClusterAddresses, canonicalAddress } from './cluster-addresses.ts';
import type { NumberPool } from './number-pool.ts';
import { PortAllocator, type PortRange } from './port-allocator.ts';
import { StoredServiceRanges } from './service-ranges.ts';

export interface ServiceRanges {
  /** One for each family; that of the `kubernetes` service first. */
  readonly addresses: readonly AddressRange[];
  readonly nodePorts: PortRange;
}

/** The `kubernetes` service; the first address of the range is reserved for it. */
export const kubernetesService = { namespace: 'default', name: 'kubernetes' } as const;

/** The addresses and ports of a stored service. */
interface Holding {
  readonly addresses: readonly string[];
  readonly ports: ReadonlySet<number>;
}

export class ServiceAllocator implements Allocator {
  readonly id = 'core/services';
  readonly #ips: ClusterAddresses;
  readonly #ports: PortAllocator;
  readonly #stored: Follower<Holding>;
  readonly #ranges: StoredServiceRanges;
  readonly #objects: AddressObjects;
  /** Addresses reserved by writes under way. */
  readonly #reserved: ReservedAddresses;

  constructor(view: View, ranges: ServiceRanges) {
    this.#ips = new ClusterAddresses(ranges.addresses);
    this.#ports = new PortAllocator(ranges.nodePorts);
    this.#ranges = new StoredServiceRanges(view, this.#ips);
    this.#objects = new AddressObjects(view, this.#ips);
    this.#reserved = new ReservedAddresses(this.#ips);
    this.#stored = new Follower<Holding>(view.collection('core/services'), {
      read: (entry) => this.#holdingOf(entry.object() as Service),
      gained: ({ addresses, ports }) => {
        for (const address of addresses) this.#ips.hold(address);
        for (const port of ports) this.#ports.pool.hold(port);
      },
      lost: ({ addresses, ports }) => {
        for (const address of addresses) this.#ips.release(address);
        for (const port of ports) this.#ports.pool.release(port);
      },
    });
  }

  /** Address of the `kubernetes` service. */
  get firstIP(): string {
    return this.#ips.first;
  }

  /** How many addresses and ports are taken or reserved. */
  get held(): { addresses: number; ports: number } {
    this.#catchUp();
    return { addresses: this.#ips.heldCount, ports: this.#ports.pool.heldCount };
  }

  /** An allocator for IPAddresses that clients create: their addresses come from the same ranges. */
  get addresses(): Allocator {
    const reserved = this.#reserved;
    const catchUp = () => this.#catchUp();
    return {
      id: addressId,
      lock: this.id,
      takes: ({ operation }) => operation === 'create',
      allocate: (_registry, { operation, request, target }) => {
        const ip = operation === 'create' ? canonicalAddress(target.name) : undefined;
        if (ip === undefined) return undefined;
        catchUp();
        if (reserved.has(ip)) throw alreadyExists(target.kind, target.name);
        if (request.dryRun) return undefined;
        reserved.hold(ip);
        return () => reserved.release(ip);
      },
    };
  }

  #catchUp(): void {
    this.#ranges.catchUp();
    this.#stored.catchUp();
    this.#objects.catchUp();
  }

  #holdingOf({ spec = {} }: Service): Holding {
    return { addresses: hasClusterIP(spec) ? (spec.clusterIPs ?? []) : [], ports: nodePortsOf(spec) };
  }

  takes({ target, object, old }: Admission): boolean {
    const { spec } = object as Service;
    if (subresourceOf(target.part) || !spec || !hasClusterIP(spec)) return false;
    return !semanticEqual(spec, (old as Service | undefined)?.spec);
  }

  allocate(registry: Registry, admission: Admission): (() => void) | undefined {
    const { request, target } = admission;
    const service = admission.object as Service;
    if (subresourceOf(target.part) || !service.spec) return undefined;
    const old = admission.old as Service | undefined;
    const before =
      old?.spec && hasClusterIP(old.spec) && !isHeadless(old.spec) ? (old.spec.clusterIPs ?? []) : [];
    if (!hasClusterIP(service.spec)) {
      if (before.length && !request.dryRun)
        admission.companion = this.#objects.companion(registry, [], canonical(before));
      return undefined;
    }
    this.#catchUp();
    const draft = new Draft((bound) => registry.sources.randomBelow(bound), request.dryRun);
    try {
      const { kind, name } = target;
      check(kind, name, () => validateAddresses(service.spec!));
      check(kind, name, () => settleFamilies(service, old, this.#ips.families));
      const taken = this.#allocateAddresses(service.spec, before, target, draft);
      const released = canonical(before.filter((ip) => !service.spec!.clusterIPs?.includes(ip)));
      if ((taken.length || released.length) && !request.dryRun)
        admission.companion = this.#objects.companion(registry, taken, released);
      this.#allocateNodePorts(service.spec, old?.spec, target, draft);
      this.#allocateHealthCheckPort(service.spec, old?.spec, draft);
    } catch (error) {
      draft.release();
      throw error;
    }
    // A dry run stores nothing, so its reservations can be released at once.
    if (request.dryRun) draft.release();
    return () => draft.release();
  }

  /**
   * Allocates an address for each family for which the service has none; validation decides whether a client may change
   * it later. Returns the allocated addresses.
   */
  #allocateAddresses(spec: ServiceSpec, before: readonly string[], target: Target, draft: Draft): string[] {
    if (isHeadless(spec)) return [];
    const { kind, namespace, name } = target;
    const owner = namespace === kubernetesService.namespace && name === kubernetesService.name;
    const own = (ip: string) => this.#objects.of(target).filter((entry) => entry.name === ip).length;
    const ips = (spec.clusterIPs ??= []);
    // The kubernetes service gets the first address without requesting it.
    if (!ips.length && owner && !this.#ips.problemWith(this.firstIP, owner, own(this.firstIP)))
      ips.push(this.firstIP);
    const taken: string[] = [];
    const asked = [...ips];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      if (i < before.length) continue;
      const wanted = asked[i];
      if (wanted === undefined) {
        ips[i] = this.#takeAny(family as Family, name, draft);
        taken.push(ips[i]);
        continue;
      }
      if (draft.isDry) continue;
      const ip = canonicalAddress(wanted)!;
      const problem = this.#ips.problemWith(wanted, owner, own(ip));
      if (problem)
        throw invalidObject(kind, name, [
          invalid('spec.clusterIPs', asked, `failed to allocate IP ${wanted}: ${problem}`),
        ]);
      draft.take(this.#reserved, ip);
      taken.push(ip);
    }
    spec.clusterIP = ips[0];
    return taken;
  }

  #takeAny(family: Family, name: string, draft: Draft): string {
    const ip = this.#ips.pick(family, draft.randomBelow);
    if (ip === undefined)
      throw internal(`failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`);
    draft.take(this.#reserved, ip);
    return ip;
  }

  /**
   * Allocates node ports. Ports of one service with the same number, such as DNS over TCP and UDP, share a node port.
   */
  #allocateNodePorts(spec: ServiceSpec, before: ServiceSpec | undefined, target: Target, draft: Draft): void {
    if (!hasNodePorts(spec)) return;
    const ports = spec.ports ?? [];
    const own = new Set(before && hasNodePorts(before) ? before.ports?.map((port) => port.nodePort) : []);
    const shared = new Map<number, number>();
    ports.forEach(({ port = 0, nodePort }, i) => {
      if (!nodePort) return;
      if (!shared.has(port)) shared.set(port, nodePort);
      if (own.has(nodePort) || draft.isDry) return;
      const problem = this.#ports.problemWith(nodePort);
      if (problem)
        throw invalidObject(target.kind, target.name, [
          invalid(`${index('spec.ports', i)}.nodePort`, nodePort, problem),
        ]);
      draft.take(this.#ports.pool, nodePort);
      // The same node port for another protocol is allowed; for the same protocol validation refuses it.
      own.add(nodePort);
    });
    if (wantsNodePorts(spec)) for (const port of ports) this.#fillNodePort(port, shared, draft);
  }

  #fillNodePort(port: ServicePort, shared: Map<number, number>, draft: Draft): void {
    if (port.nodePort) return;
    const number = port.port ?? 0;
    port.nodePort = shared.get(number) ?? draft.takeAny(this.#ports.pool);
    if (port.nodePort === undefined) throw internal('failed to allocate a nodePort: range is full');
    shared.set(number, port.nodePort);
  }

  #allocateHealthCheckPort(spec: ServiceSpec, before: ServiceSpec | undefined, draft: Draft): void {
    if (!hasHealthCheckPort(spec) || (before && hasHealthCheckPort(before))) return;
    const wanted = spec.healthCheckNodePort;
    if (wanted && draft.isDry) return;
    if (wanted) {
      const problem = this.#ports.problemWith(wanted);
      if (problem) throw internal(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
      draft.take(this.#ports.pool, wanted);
      return;
    }
    spec.healthCheckNodePort = draft.takeAny(this.#ports.pool);
    if (spec.healthCheckNodePort === undefined)
      throw internal('failed to allocate a HealthCheck NodePort: range is full');
  }

  /** Deletes the IPAddresses of a service. Its controller deletes later what cannot be deleted now. */
  removed(registry: Registry, { namespace, name }: Place, revision: number): Promise<void> {
    return this.#objects.removeOf(registry, { namespace, name }, revision).catch(() => undefined);
  }
}

const canonical = (ips: readonly string[]): string[] => ips.flatMap((ip) => canonicalAddress(ip) ?? []);

/** A pool from which values are taken. */
interface Pool<T> {
  hold(value: T): void;
  release(value: T): void;
}

/** Addresses reserved by writes under way; they are also held in the ranges. */
class ReservedAddresses implements Pool<string> {
  readonly #holders = new Map<string, number>();

  constructor(private readonly ips: ClusterAddresses) {}

  has(ip: string): boolean {
    return this.#holders.has(ip);
  }

  hold(ip: string): void {
    this.#holders.set(ip, (this.#holders.get(ip) ?? 0) + 1);
    this.ips.hold(ip);
  }

  release(ip: string): void {
    const holders = this.#holders.get(ip) ?? 0;
    if (holders > 1) this.#holders.set(ip, holders - 1);
    else this.#holders.delete(ip);
    this.ips.release(ip);
  }
}

/** The values that one write has reserved and not stored yet. */
class Draft {
  #releases: (() => void)[] = [];

  constructor(
    readonly randomBelow: (bound: number) => number,
    /** Whether this is a dry run. Nothing is stored then, so, as in Kubernetes, requested values need not be free. */
    readonly isDry: boolean,
  ) {}

  take<T>(pool: Pool<T>, value: T): void {
    pool.hold(value);
    this.#releases.push(() => pool.release(value));
  }

  /** Takes any free number; undefined when all are taken. */
  takeAny(pool: NumberPool): number | undefined {
    const number = pool.pick(this.randomBelow);
    if (number !== undefined) this.take(pool, number);
    return number;
  }

  /** Safe to call twice. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
