/**
 * IP allocation for the ranges of one family. Ranges may be added, removed and overlap; a held address is held in all
 * of them. In the family of the `kubernetes` service the first address of the cluster's own range is reserved for it,
 * whether or not the service exists.
 */
import { type AddressRange, addressText, isCIDR, parseCIDR, parseIP } from '../../api/values/addresses.ts';
import { AddressPool } from './address-pool.ts';

/**
 * Bounds of the cluster's own ranges: a /8 is the largest private network of IPv4, a /64 the largest that Kubernetes takes
 * of IPv6, and a range below the minimum has no address to give out.
 */
const prefixLengths = { 4: { min: 8, max: 30 }, 6: { min: 64, max: 126 } } as const;

/** Parses `10.0.0.0/24`; undefined when it is no usable range. */
function parseIPRange(text: string): AddressRange | undefined {
  const range = isCIDR(text).length ? undefined : parseCIDR(text);
  return range && range.prefixLength >= prefixLengths[range.family].min && isGivable(range)
    ? range
    : undefined;
}

const isGivable = ({ family, prefixLength }: AddressRange): boolean =>
  prefixLength <= prefixLengths[family].max;

/** Parses one range, or one of each family, separated by a comma; undefined when they cannot be used. */
export function parseIPRanges(text: string): readonly AddressRange[] | undefined {
  const ranges = text.split(',').flatMap((one) => parseIPRange(one) ?? []);
  if (ranges.length !== text.split(',').length) return undefined;
  return new Set(ranges.map(({ family }) => family)).size === ranges.length ? ranges : undefined;
}

export class IPAllocator {
  readonly #first: bigint;
  /** Number of holders of each address, also outside of all ranges, because ranges may be added later. */
  readonly #held = new Map<bigint, number>();
  readonly #pools = new Map<string, AddressPool>();

  /**
   * @param own the cluster's own range, which is used as long as no ranges are set
   * @param reserves whether its first address is reserved
   */
  constructor(
    readonly own: AddressRange,
    private readonly reserves = true,
  ) {
    this.#first = own.first + 1n;
    this.setRanges([own]);
    if (reserves) this.hold(this.#first);
  }

  /** The address of the `kubernetes` service. */
  get first(): string {
    return this.#text(this.#first);
  }

  /** How many addresses are held in the ranges. */
  get heldCount(): number {
    let count = 0;
    for (const address of this.#held.keys()) if (this.#has(address)) count++;
    return count;
  }

  /** Sets the ranges that addresses are given out from, in this order. Those of the other family are left out. */
  setRanges(ranges: readonly AddressRange[]): void {
    const before = new Map(this.#pools);
    this.#pools.clear();
    for (const range of ranges) {
      const key = `${range.first}/${range.prefixLength}`;
      if (range.family !== this.own.family || !isGivable(range) || this.#pools.has(key)) continue;
      this.#pools.set(key, before.get(key) ?? this.#poolOf(range));
    }
  }

  hold(address: bigint): void {
    this.#held.set(address, (this.#held.get(address) ?? 0) + 1);
    for (const pool of this.#pools.values()) pool.hold(address);
  }

  release(address: bigint): void {
    const holders = this.#held.get(address) ?? 0;
    if (holders > 1) this.#held.set(address, holders - 1);
    else this.#held.delete(address);
    for (const pool of this.#pools.values()) pool.release(address);
  }

  /** Any free address of the first range that has one; undefined when all are full. */
  pick(randomBelow: (bound: number) => number): string | undefined {
    for (const pool of this.#pools.values()) {
      const address = pool.pick(randomBelow);
      if (address !== undefined) return this.#text(address);
    }
    return undefined;
  }

  /**
   * Why an address cannot be allocated; undefined when it can.
   * @param owner whether it is for the `kubernetes` service
   * @param own how many of its holders belong to the requesting object
   */
  problemWith(ip: string, owner = false, own = 0): string | undefined {
    const address = parseIP(ip);
    if (address?.family !== this.own.family || !this.#has(address.value))
      return 'the provided network does not match the current range';
    const isOwn = owner && this.reserves && address.value === this.#first;
    const standing = (isOwn ? 1 : 0) + own;
    return (this.#held.get(address.value) ?? 0) > standing ? 'provided IP is already allocated' : undefined;
  }

  #has(address: bigint): boolean {
    for (const pool of this.#pools.values()) if (pool.has(address)) return true;
    return false;
  }

  #text(value: bigint): string {
    return addressText({ family: this.own.family, value });
  }

  #poolOf(range: AddressRange): AddressPool {
    const pool = new AddressPool(range);
    for (const [address, holders] of this.#held) for (let i = 0; i < holders; i++) pool.hold(address);
    return pool;
  }
}
