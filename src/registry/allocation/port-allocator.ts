/** Port allocation: the node ports of services. A port counts as taken for all protocols. */
import { NumberPool } from './number-pool.ts';

const portMax = 65_535;

/** The lowest ports are kept for services that request a fixed one (`nodePort`); small ranges keep none. */
const sparedMin = 16;
const sparedMax = 128;
const sparedShare = 32;

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Parses `30000-32767`; undefined when it is no port range. */
export function parsePortRange(text: string): PortRange | undefined {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const [first, last] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  return first >= 1 && first <= last && last <= portMax ? { first, last } : undefined;
}

export class PortAllocator {
  readonly pool: NumberPool;

  constructor({ first, last }: PortRange) {
    const size = last - first + 1;
    const share = Math.min(Math.max(sparedMin, Math.floor(size / sparedShare)), sparedMax);
    this.pool = new NumberPool(first, last, size <= sparedMin ? 0 : share);
  }

  /** Why a port cannot be allocated; undefined when it can. */
  problemWith(port: number): string | undefined {
    const { pool } = this;
    if (!pool.has(port))
      return `provided port is not in the valid range. The range of valid ports is ${pool.first}-${pool.last}`;
    return pool.holdersOf(port) ? 'provided port is already allocated' : undefined;
  }
}
