/** IPv4 ranges for pods and services, and which of them are free on a machine. */
import { type AddressRange, isCIDR, parseCIDR, parseIP } from '../../api/values/addresses.ts';

/** Prefix length of the part of the pod range that one node takes. */
const nodePrefixLength = 24;
const prefixLengthMin = 8;
const prefixLengthMax = 28;
/** Routes to half of the address space or more count as default routes: VPNs write those as two halves. */
const defaultRoutePrefixMax = 1;

/** Private, and not used by Docker, Podman, libvirt, flannel or home routers. */
export const defaultPodRange = '10.217.0.0/16';

export class Subnet {
  readonly #first: number;
  readonly #last: number;

  private constructor(
    first: number,
    readonly prefixLength: number,
  ) {
    this.#first = first;
    this.#last = first + 2 ** (32 - prefixLength) - 1;
  }

  /** Undefined unless it is an IPv4 range; a single address counts as one. */
  static parse(text: string): Subnet | undefined {
    const range = parseCIDR(text.includes('/') ? text : `${text}/32`);
    return range?.family === 4 ? new Subnet(Number(range.first), range.prefixLength) : undefined;
  }

  static of({ first, prefixLength }: AddressRange): Subnet {
    return new Subnet(Number(first), prefixLength);
  }

  get text(): string {
    return `${formatIPv4(this.#first)}/${this.prefixLength}`;
  }

  get size(): number {
    return this.#last - this.#first + 1;
  }

  /** The nth address; 0 is the subnet's own. */
  address(number: number): string {
    return formatIPv4(this.#first + number);
  }

  has(ip: string): boolean {
    const address = parseIP(ip);
    if (address?.family !== 4) return false;
    return Number(address.value) >= this.#first && Number(address.value) <= this.#last;
  }

  /** The number of an address; undefined when it is outside, or cannot be one of a host. */
  numberOf(ip: string): number | undefined {
    const address = parseIP(ip);
    if (address?.family !== 4 || !this.has(ip)) return undefined;
    const number = Number(address.value) - this.#first;
    return number > 0 && number < this.size - 1 ? number : undefined;
  }

  overlaps(other: Subnet): boolean {
    return this.#first <= other.#last && other.#first <= this.#last;
  }

  get isLoopback(): boolean {
    return this.overlaps(loopback);
  }

  /** As the destination of a route: whether it is a default route. */
  get isDefault(): boolean {
    return this.prefixLength <= defaultRoutePrefixMax;
  }

  /** The parts that nodes take, each once, beginning with the given one. */
  *parts(start: number): Generator<Subnet> {
    const prefixLength = Math.max(this.prefixLength, nodePrefixLength);
    const count = 2 ** (prefixLength - this.prefixLength);
    const step = 2 ** (32 - prefixLength);
    for (let index = 0; index < count; index++)
      yield new Subnet(this.#first + ((start + index) % count) * step, prefixLength);
  }
}

const loopback = Subnet.of(parseCIDR('127.0.0.0/8')!);

/** Throws an error that is readable to the user who chose the range. */
export function parsePodRange(text: string): Subnet {
  const range = isCIDR(text).length ? undefined : Subnet.parse(text);
  if (
    !range ||
    range.prefixLength < prefixLengthMin ||
    range.prefixLength > prefixLengthMax ||
    range.isLoopback
  )
    throw new Error(
      `the pod range must be an IPv4 range from /${prefixLengthMin} to /${prefixLengthMax} such as ${defaultPodRange}, not ${JSON.stringify(text)}`,
    );
  return range;
}

const formatIPv4 = (number: number): string =>
  [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff].join('.');
