/** The cluster IPs of all families that the cluster has: one, or both. */

import type { Family } from '../../api/rules/service/service-addresses.ts';
import { type AddressRange, addressText, parseIP } from '../../api/values/addresses.ts';
import { IPAllocator } from './ip-allocator.ts';

export class ClusterAddresses {
  readonly #families: ReadonlyMap<AddressRange['family'], IPAllocator>;

  /** @param own the cluster's own ranges, one for each family; that of the `kubernetes` service first */
  constructor(readonly own: readonly AddressRange[]) {
    this.#families = new Map(own.map((range, i) => [range.family, new IPAllocator(range, i === 0)]));
  }

  get families(): readonly Family[] {
    return [...this.#families.keys()].map((family) => `IPv${family}` as const);
  }

  /** The address of the `kubernetes` service. */
  get first(): string {
    return this.#families.values().next().value!.first;
  }

  /** How many addresses are held in the ranges. */
  get heldCount(): number {
    return [...this.#families.values()].reduce((sum, ips) => sum + ips.heldCount, 0);
  }

  setRanges(ranges: readonly AddressRange[]): void {
    for (const ips of this.#families.values()) ips.setRanges(ranges);
  }

  /**
   * Marks an address as held. Text that is not an address, and addresses of a family that the cluster lacks, are
   * ignored.
   */
  hold(ip: string): void {
    const address = parseIP(ip);
    if (address) this.#families.get(address.family)?.hold(address.value);
  }

  release(ip: string): void {
    const address = parseIP(ip);
    if (address) this.#families.get(address.family)?.release(address.value);
  }

  pick(family: Family, randomBelow: (bound: number) => number): string | undefined {
    return this.#families.get(family === 'IPv6' ? 6 : 4)?.pick(randomBelow);
  }

  /** Why an address cannot be allocated; undefined when it can. The parameters are those of `IPAllocator`. */
  problemWith(ip: string, owner = false, own = 0): string | undefined {
    const ips = this.#families.get(parseIP(ip)?.family ?? 4) ?? this.#families.values().next().value!;
    return ips.problemWith(ip, owner, own);
  }
}

/** The canonical form of an address, which is the name of its IPAddress; undefined for text that is not an address. */
export function canonicalAddress(ip: string): string | undefined {
  const address = parseIP(ip);
  return address && addressText(address);
}
