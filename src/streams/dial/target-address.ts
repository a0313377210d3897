/**
 * Which addresses the server connects to for a user. Addresses of pods, endpoints and nodes are written by
 * users, who could otherwise make the server connect to its own loopback services or a cloud's metadata
 * service. Only global unicast addresses, including private ones, are dialled.
 */
import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { badRequest, type StatusError } from '../../api/errors/errors.ts';
import { type Address, type AddressRange, parseCIDR, parseIP } from '../../api/values/addresses.ts';

/** Timeout of a name lookup. */
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
  // Metadata services that are not link-local: Alibaba, Azure, Oracle (one of the IETF's special addresses), AWS,
  // Google, Scaleway and Oracle again.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.0/24',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  'fd00:c1::a9fe:a9fe/128',
  // Local-use NAT64: where such an address contains the IPv4 address is only known to its network.
  '64:ff9b:1::/48',
].map((text) => parseCIDR(text)!);

/** IPv6 ranges whose addresses embed IPv4 addresses that a packet may end up at, and how to extract them. */
const carriers: readonly { readonly range: AddressRange; readonly carried: (value: bigint) => bigint[] }[] = [
  // IPv4-compatible, IPv4-translated and NAT64.
  { range: parseCIDR('::/96')!, carried: (value) => [value] },
  { range: parseCIDR('::ffff:0:0:0/96')!, carried: (value) => [value] },
  { range: parseCIDR('64:ff9b::/96')!, carried: (value) => [value] },
  // 6to4
  { range: parseCIDR('2002::/16')!, carried: (value) => [value >> 80n] },
  // Teredo: a server, and a client with its bits inverted.
  { range: parseCIDR('2001::/32')!, carried: (value) => [value >> 64n, ~value] },
];

/** ISATAP: any network, then this mark (or the same with the "unique" bit set), then an IPv4 address. */
const isatapMarks = [0x0000_5efen, 0x0200_5efen];

/**
 * Whether the server may connect to this address. Anything but a plain address, such as one with a zone, is
 * refused.
 */
export function isAllowedTarget(text: string): boolean {
  // Only what Node would dial as it is: some parsers read leading zeros as octal.
  const address = isIP(text) && !text.includes('%') ? parseIP(text) : undefined;
  return address !== undefined && isAllowed(address);
}

function isAllowed(address: Address): boolean {
  if (refusedRanges.some((range) => holds(range, address))) return false;
  return carriedBy(address).every((value) => isAllowed({ family: 4, value: value & 0xffff_ffffn }));
}

/** The IPv4 addresses embedded in an IPv6 address. Only their low 32 bits count. */
function carriedBy(address: Address): bigint[] {
  const { family, value } = address;
  if (family === 4) return [];
  const carrier = carriers.find(({ range }) => holds(range, address));
  if (carrier) return carrier.carried(value);
  return isatapMarks.includes((value >> 32n) & 0xffff_ffffn) ? [value] : [];
}

const holds = (range: AddressRange, { family, value }: Address): boolean =>
  range.family === family && range.first <= value && value <= range.last;

export const addressNotAllowed = (): StatusError => badRequest('address not allowed');

export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * The addresses of a host, all of which may be dialled. A name is resolved once, here, and callers dial the
 * result: a second lookup could give another answer (DNS rebinding).
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
