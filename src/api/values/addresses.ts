/**
 * IP addresses and ranges in field values. Checks return Kubernetes' messages; an empty list means the value is
 * valid.
 */

/** Longest IP address or CIDR that is parsed, in characters; the longest valid one has 49. */
const addressCharsMax = 128;

export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface AddressRange extends Address {
  readonly prefixLength: number;
  /** Lowest and highest address of the range; `value` is the address as it was written. */
  readonly first: bigint;
  readonly last: bigint;
}

export function isIP(value: string): string[] {
  const address = readAddress(value);
  if (!address) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
  if (address.leadingZeros) return ['must not have leading 0s'];
  return isMapped(address) ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

export function isCIDR(value: string): string[] {
  const range = readRange(value);
  if (!range) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  const problems: string[] = [];
  if (range.leadingZeros) problems.push('must not have leading 0s in IP or prefix length');
  else if (isMapped(range)) problems.push('must not have an IPv4-mapped IPv6 address');
  if (range.value & range.hostMask) problems.push('must not have bits set beyond the prefix length');
  return problems;
}

/** The strict check of newer kinds, which want the one canonical form. */
export function isCanonicalIP(value: string): string[] {
  const problems = isIP(value);
  return problems.length ? problems : canonicalProblems(value, addressText(readAddress(value)!));
}

export function isCanonicalCIDR(value: string): string[] {
  const problems = isCIDR(value);
  return problems.length ? problems : canonicalProblems(value, rangeText(readRange(value)!));
}

const canonicalProblems = (value: string, canonical: string): string[] =>
  value === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];

const rangeText = (range: Address & { readonly prefixLength: number }): string =>
  `${addressText(range)}/${range.prefixLength}`;

/** An address of an interface with the length of its network: `10.9.8.7/24`. */
export function isInterfaceAddress(value: string): string[] {
  const range = readRange(value);
  if (!range) return ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'];
  if (range.leadingZeros) return ['must not have leading 0s in IP or prefix length'];
  if (isMapped(range)) return ['must not have an IPv4-mapped IPv6 address'];
  return canonicalProblems(value, rangeText(range));
}

/** What is said about a valid address that is not written as it should be; undefined when it is. */
export const addressWarning = (value: string): string | undefined =>
  canonicalWarning('IPv6 address', value, canonicalIP);

/** The same about a range. */
export const rangeWarning = (value: string): string | undefined =>
  canonicalWarning('IPv6 CIDR value', value, canonicalCIDR);

function canonicalWarning(
  what: string,
  value: string,
  canonicalOf: (value: string) => string | undefined,
): string | undefined {
  if (!value.includes(':')) return undefined;
  const canonical = canonicalOf(value);
  return canonical === undefined || canonical === value
    ? undefined
    : `${what} ${JSON.stringify(value)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`;
}

function canonicalIP(value: string): string | undefined {
  const address = readAddress(value);
  return address && addressText(address);
}

function canonicalCIDR(value: string): string | undefined {
  const range = readRange(value);
  return range && rangeText(range);
}

/** The canonical form: of RFC 5952 for IPv6. */
export function addressText({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xff_ffn).toString(16),
  );
  // The longest run of at least two zero groups is left out.
  let run = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > run.length) run = { start, length };
  }
  if (run.start < 0) return groups.join(':');
  return `${groups.slice(0, run.start).join(':')}::${groups.slice(run.start + run.length).join(':')}`;
}

/**
 * Parses an address leniently, for stored objects: leading zeros are decimal, and an IPv4-mapped address counts as
 * IPv4. `isIP` is the strict check for new values.
 */
export function parseIP(text: string): Address | undefined {
  const address = readAddress(text);
  if (!address) return undefined;
  return isMapped(address) ? { family: 4, value: address.value & 0xffff_ffffn } : pick(address);
}

export function parseCIDR(text: string): AddressRange | undefined {
  const range = readRange(text);
  if (!range) return undefined;
  const first = range.value & ~range.hostMask;
  return { ...pick(range), prefixLength: range.prefixLength, first, last: first | range.hostMask };
}

interface ReadAddress extends Address {
  /** Leading zeros, which other parsers read as octal, or refuse. */
  readonly leadingZeros: boolean;
}

function readAddress(text: string): ReadAddress | undefined {
  if (text.length > addressCharsMax) return undefined;
  return text.includes(':') ? readIPv6(text) : readIPv4(text);
}

function readIPv4(text: string): ReadAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255))
    return undefined;
  const value = BigInt(parts.reduce((sum, part) => sum * 256 + Number(part), 0));
  return { family: 4, value, leadingZeros: parts.some((part) => part.length > 1 && part.startsWith('0')) };
}

function readIPv6(text: string): ReadAddress | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  let leadingZeros = false;
  const groups = halves.map((half): bigint[] | undefined => {
    const out: bigint[] = [];
    for (const part of half === '' ? [] : half.split(':')) {
      // The last two groups may be written as an IPv4 address.
      const tail = part.includes('.') && text.endsWith(`:${part}`) ? readIPv4(part) : undefined;
      if (tail) out.push(tail.value >> 16n, tail.value & 0xffffn);
      else if (/^[0-9a-fA-F]+$/.test(part) && Number.parseInt(part, 16) <= 0xffff)
        out.push(BigInt(`0x${part}`));
      else return undefined;
      leadingZeros ||= tail ? tail.leadingZeros : part.length > 4;
    }
    return out;
  });
  const [head, rest] = groups;
  if (!head || groups.includes(undefined)) return undefined;
  const missing = 8 - head.length - (rest?.length ?? 0);
  // `::` stands for at least one group.
  if (rest ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array<bigint>(missing).fill(0n), ...(rest ?? [])];
  return { family: 6, value: all.reduce((sum, group) => (sum << 16n) | group, 0n), leadingZeros };
}

function readRange(text: string): (ReadAddress & { prefixLength: number; hostMask: bigint }) | undefined {
  const slash = text.length > addressCharsMax ? -1 : text.indexOf('/');
  const address = slash < 0 ? undefined : readAddress(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  if (!address || !/^\d+$/.test(lengthText)) return undefined;
  const bits = address.family === 4 ? 32 : 128;
  const prefixLength = Number(lengthText);
  if (prefixLength > bits) return undefined;
  const leadingZeros = address.leadingZeros || (lengthText.length > 1 && lengthText.startsWith('0'));
  return { ...address, leadingZeros, prefixLength, hostMask: (1n << BigInt(bits - prefixLength)) - 1n };
}

function isMapped(address: Address): boolean {
  return address.family === 6 && address.value >> 32n === 0xffffn;
}

function pick({ family, value }: Address): Address {
  return { family, value };
}
