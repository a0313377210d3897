/**
 * An address pool: the addresses of one range, without the network address and, for IPv4, the broadcast address. Of
 * larger ranges only the lowest 2^32 are picked; the others can be requested explicitly.
 */
import type { AddressRange } from '../../api/values/addresses.ts';
import { NumberPool } from './number-pool.ts';

/** The lowest addresses are kept for services that request a fixed one (`clusterIP`); small ranges keep none. */
const sparedMin = 16;
const sparedMax = 256;
const sparedShare = 16;
const pickedMax = 2 ** 32;

export class AddressPool {
  readonly #first: bigint;
  readonly #last: bigint;
  /** Addresses as distances from the first address of the range. */
  readonly #numbers: NumberPool;

  constructor(private readonly range: AddressRange) {
    this.#first = range.first + 1n;
    this.#last = range.family === 4 ? range.last - 1n : range.last;
    const size = Number(range.last - range.first) + 1;
    const share = Math.min(Math.max(sparedMin, Math.floor(size / sparedShare)), sparedMax);
    const last = Math.min(Number(this.#last - range.first), pickedMax);
    this.#numbers = new NumberPool(1, last, size <= sparedMin ? 0 : share);
  }

  has(address: bigint): boolean {
    return address >= this.#first && address <= this.#last;
  }

  hold(address: bigint): void {
    if (this.has(address)) this.#numbers.hold(Number(address - this.range.first));
  }

  release(address: bigint): void {
    if (this.has(address)) this.#numbers.release(Number(address - this.range.first));
  }

  /** Any free address; undefined when all are taken. */
  pick(randomBelow: (bound: number) => number): bigint | undefined {
    const number = this.#numbers.pick(randomBelow);
    return number === undefined ? undefined : this.range.first + BigInt(number);
  }
}
