/**
 * IP allocation: the addresses of IPv4 ranges, without network and broadcast addresses. Ranges may come, go and overlap;
 * an address that is held is held in all of them. The first address of the cluster's own range is reserved for the
 * `kubernetes` service, whether or not it exists.
 */
import { type AddressRange, isCIDR, parseCIDR, parseIP } from '../../api/addresses.ts';
import { NumberPool } from './numberpool.ts';

/**
 * Bounds of the cluster's own range: a /8 is the largest private network, and a range below the minimum has no address
 * to give out.
 */
const prefixLengthMin = 8;
const prefixLengthMax = 30;

/** The lowest addresses are kept for services that request a fixed one (`clusterIP`); small ranges keep none. */
const sparedMin = 16;
const sparedMax = 256;
const sparedShare = 16;

/** Parses `10.0.0.0/24`; undefined when it is no usable IPv4 range. */
export function parseIPRange(text: string): AddressRange | undefined {
  const range = isCIDR(text).length ? undefined : parseCIDR(text);
  if (range?.family !== 4) return undefined;
  return range.prefixLength >= prefixLengthMin && range.prefixLength <= prefixLengthMax ? range : undefined;
}

export class IPAllocator {
  readonly #first: number;
  /** Holders of each address, inside and outside of all ranges: ranges may come later. */
  readonly #held = new Map<number, number>();
  readonly #pools = new Map<string, NumberPool>();

  /** @param own the cluster's own range, which is used as long as no ranges are set */
  constructor(readonly own: AddressRange) {
    this.#first = Number(own.first) + 1;
    this.setRanges([own]);
    this.hold(this.#first);
  }

  /** The address of the `kubernetes` service. */
  get first(): string {
    return formatIPv4(this.#first);
  }

  /** How many addresses are held in the ranges. */
  get heldCount(): number {
    let count = 0;
    for (const number of this.#held.keys()) if (this.#has(number)) count++;
    return count;
  }

  /** Sets the ranges that addresses are given out from, in this order. */
  setRanges(ranges: readonly AddressRange[]): void {
    const before = new Map(this.#pools);
    this.#pools.clear();
    for (const range of ranges) {
      const key = `${range.first}/${range.prefixLength}`;
      if (range.family !== 4 || range.prefixLength > prefixLengthMax || this.#pools.has(key)) continue;
      this.#pools.set(key, before.get(key) ?? this.#poolOf(range));
    }
  }

  /** The number of an address; undefined for text that is no IPv4 address. */
  numberOf(ip: string): number | undefined {
    const address = parseIP(ip);
    return address?.family === 4 ? Number(address.value) : undefined;
  }

  hold(number: number): void {
    this.#held.set(number, (this.#held.get(number) ?? 0) + 1);
    for (const pool of this.#pools.values()) pool.hold(number);
  }

  release(number: number): void {
    const holders = this.#held.get(number) ?? 0;
    if (holders > 1) this.#held.set(number, holders - 1);
    else this.#held.delete(number);
    for (const pool of this.#pools.values()) pool.release(number);
  }

  /** Any free address of the first range that has one; undefined when all are full. */
  pick(randomBelow: (bound: number) => number): number | undefined {
    for (const pool of this.#pools.values()) {
      const number = pool.pick(randomBelow);
      if (number !== undefined) return number;
    }
    return undefined;
  }

  /**
   * Why an address cannot be allocated; undefined when it can.
   * @param owner whether the `kubernetes` service asks
   * @param own how often the address is held by what belongs to the one who asks
   */
  problemWith(ip: string, owner = false, own = 0): string | undefined {
    const number = this.numberOf(ip);
    if (number === undefined || !this.#has(number))
      return 'the provided network does not match the current range';
    const standing = (owner && number === this.#first ? 1 : 0) + own;
    return (this.#held.get(number) ?? 0) > standing ? 'provided IP is already allocated' : undefined;
  }

  #has(number: number): boolean {
    for (const pool of this.#pools.values()) if (pool.has(number)) return true;
    return false;
  }

  #poolOf(range: AddressRange): NumberPool {
    const size = Number(range.last - range.first) + 1;
    const share = Math.min(Math.max(sparedMin, Math.floor(size / sparedShare)), sparedMax);
    const pool = new NumberPool(
      Number(range.first) + 1,
      Number(range.last) - 1,
      size <= sparedMin ? 0 : share,
    );
    for (const [number, holders] of this.#held) for (let i = 0; i < holders; i++) pool.hold(number);
    return pool;
  }
}

export const formatIPv4 = (number: number): string =>
  [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff].join('.');
