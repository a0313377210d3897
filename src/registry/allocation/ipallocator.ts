/**
 * IP allocation: the addresses of an IPv4 range, without network and broadcast address. The first address is reserved
 * for the `kubernetes` service, whether or not it exists.
 */
import { type AddressRange, isCIDR, parseCIDR, parseIP } from '../../api/addresses.ts';
import { NumberPool } from './numberpool.ts';

/**
 * Bounds of the range: a /8 is the largest private network, and a range below the minimum has no address to give out.
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
  readonly pool: NumberPool;

  constructor(range: AddressRange) {
    const size = Number(range.last - range.first) + 1;
    const share = Math.min(Math.max(sparedMin, Math.floor(size / sparedShare)), sparedMax);
    this.pool = new NumberPool(
      Number(range.first) + 1,
      Number(range.last) - 1,
      size <= sparedMin ? 0 : share,
    );
    this.pool.hold(this.pool.first);
  }

  get first(): string {
    return formatIPv4(this.pool.first);
  }

  /** The number of an address; undefined for text that is no IPv4 address. */
  numberOf(ip: string): number | undefined {
    const address = parseIP(ip);
    return address?.family === 4 ? Number(address.value) : undefined;
  }

  /** Why an address cannot be allocated; undefined when it can. */
  problemWith(ip: string, owner = false): string | undefined {
    const number = this.numberOf(ip);
    if (number === undefined || !this.pool.has(number))
      return 'the provided network does not match the current range';
    const standing = owner && number === this.pool.first ? 1 : 0;
    return this.pool.holdersOf(number) > standing ? 'provided IP is already allocated' : undefined;
  }
}

export const formatIPv4 = (number: number): string =>
  [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff].join('.');
