/**
 * Which addresses the server connects to on somebody's behalf. Addresses of pods, endpoints and nodes are written by
 * users, so whoever writes them would choose what the server talks to: its own loopback services, or a cloud's
 * metadata service on a link-local address. Only global unicast addresses, private ones included, are dialled.
 */
import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Address, parseCIDR, parseIP } from '../api/addresses.ts';
import { badRequest, type StatusError } from '../api/errors.ts';

/** A name is resolved within this time. */
const lookupMs = 10_000;

const refusedRanges = [
  // "This network"; 0.0.0.0 itself reaches the loopback interface.
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
].map((text) => parseCIDR(text)!);

/** IPv6 ranges whose addresses carry an IPv4 address that the packet may end up at, and how far right it stands. */
const carriers = [
  // IPv4-compatible, IPv4-translated and NAT64.
  { range: parseCIDR('::/96')!, shift: 0n },
  { range: parseCIDR('::ffff:0:0:0/96')!, shift: 0n },
  { range: parseCIDR('64:ff9b::/96')!, shift: 0n },
  // 6to4
  { range: parseCIDR('2002::/16')!, shift: 80n },
];

/** Whether the server may be sent to this address. Whatever is not a plain address, zones included, is refused. */
export function isAllowedTarget(text: string): boolean {
  // Other readers take leading zeros for octal numbers: what Node would not dial as it stands is no address.
  const address = isIP(text) && !text.includes('%') ? parseIP(text) : undefined;
  return address !== undefined && isAllowed(address);
}

function isAllowed(address: Address): boolean {
  if (refusedRanges.some((range) => holds(range, address))) return false;
  for (const { range, shift } of carriers)
    if (holds(range, address))
      return isAllowed({ family: 4, value: (address.value >> shift) & 0xffff_ffffn });
  return true;
}

const holds = (range: { family: number; first: bigint; last: bigint }, { family, value }: Address): boolean =>
  range.family === family && range.first <= value && value <= range.last;

export const addressNotAllowed = (): StatusError => badRequest('address not allowed');

export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * The addresses of a host, each of which may be dialled. A name is resolved once, here, and the answer is what is
 * dialled: asking again later might bring another answer.
 */
export async function allowedAddresses(
  host: string,
  lookup: Lookup = systemLookup,
  isAllowed: (address: string) => boolean = isAllowedTarget,
): Promise<readonly string[]> {
  const addresses = isIP(host) ? [host] : await lookup(host);
  if (addresses.length === 0 || !addresses.every(isAllowed)) throw addressNotAllowed();
  return addresses;
}

export const systemLookup: Lookup = async (host) => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`dial tcp: lookup ${host}: i/o timeout`)), lookupMs);
  });
  try {
    const found = await Promise.race([dnsLookup(host, { all: true }), late]);
    return found.map(({ address }) => address);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code === undefined ? new Error(message) : new Error(`dial tcp: lookup ${host}: no such host`);
  } finally {
    clearTimeout(timer);
  }
};
