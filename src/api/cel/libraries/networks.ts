/** IP addresses, ranges and URLs. */
import { type Address, addressText, isIP, parseCIDR, parseIP } from '../../values/addresses.ts';
import { define, type Overload, walkFirst } from '../values/functions.ts';
import { CelError, EntryMap, ItemList, Opaque, type Value } from '../values/values.ts';
import { succeeds } from './quantities.ts';

class IPValue extends Opaque {
  readonly type = 'net.IP';
  constructor(readonly address: Address) {
    super();
  }
  equals(other: Opaque): boolean {
    return other instanceof IPValue && sameAddress(this.address, other.address);
  }
}

class CIDRValue extends Opaque {
  readonly type = 'net.CIDR';
  constructor(
    readonly address: Address,
    readonly prefixLength: number,
  ) {
    super();
  }
  equals(other: Opaque): boolean {
    return (
      other instanceof CIDRValue &&
      sameAddress(this.address, other.address) &&
      this.prefixLength === other.prefixLength
    );
  }
}

const sameAddress = (a: Address, b: Address): boolean => a.family === b.family && a.value === b.value;

/** Strict, unlike the parser for stored objects: no leading zeros, no zones, no IPv4 in IPv6. */
function parseAddress(text: string): Address | undefined {
  return isIP(text).length === 0 ? parseIP(text) : undefined;
}

function ip(text: string): IPValue {
  const address = parseAddress(text);
  if (address === undefined)
    throw new CelError(
      `IP Address ${JSON.stringify(text)} parse error during conversion from string: ${addressProblem(text)}`,
    );
  return new IPValue(address);
}

function addressProblem(text: string): string {
  const name = `ParseAddr(${JSON.stringify(text)})`;
  if (text.includes('%')) return 'IP address with zone value is not allowed';
  if (isIP(text)[0]?.includes('IPv4-mapped')) return 'IPv4-mapped IPv6 address is not allowed';
  if (/^[^:]*\./.test(text)) {
    const parts = text.split('.');
    if (/[^0-9.]/.test(text))
      return `${name}: unexpected character (at ${JSON.stringify(text.slice(text.search(/[^0-9.]/)))})`;
    if (parts.some((part) => Number(part) > 255)) return `${name}: IPv4 field has value >255`;
    if (parts.some((part) => part.length > 1 && part.startsWith('0')))
      return `${name}: IPv4 field has octet with leading zero`;
    return parts.length < 4 ? `${name}: IPv4 address too short` : `${name}: IPv4 address too long`;
  }
  return `${name}: unable to parse IP`;
}

function cidr(text: string): CIDRValue {
  const problem = (detail: string): CelError =>
    new CelError(
      `network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): ${detail}`,
    );
  const slash = text.lastIndexOf('/');
  if (slash < 0) throw problem("no '/'");
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined) throw problem(addressProblem(text.slice(0, slash)));
  const range = /\/(0|[1-9]\d*)$/.test(text) ? parseCIDR(text) : undefined;
  if (range === undefined)
    throw problem(
      /\/\d+$/.test(text)
        ? 'prefix length out of range'
        : `bad bits after slash: ${JSON.stringify(text.slice(slash + 1))}`,
    );
  return new CIDRValue(address, range.prefixLength);
}

const bits = ({ family }: Address): number => (family === 4 ? 32 : 128);
const startsWith = (address: Address, value: bigint, length: number): boolean =>
  address.value >> BigInt(bits(address) - length) === value;

/** Ranges of addresses by what they are for: the first bits and how many they are, per family. */
const purposes: Record<string, { 4: readonly [bigint, number]; 6: readonly [bigint, number] }> = {
  isUnspecified: { 4: [0n, 32], 6: [0n, 128] },
  isLoopback: { 4: [127n, 8], 6: [1n, 128] },
  isLinkLocalMulticast: { 4: [0xe0_00_00n, 24], 6: [0xff_02n, 16] },
  isLinkLocalUnicast: { 4: [0xa9_fen, 16], 6: [0x3_fan, 10] },
  isMulticast: { 4: [0xen, 4], 6: [0xffn, 8] },
  isBroadcast: { 4: [0xff_ff_ff_ffn, 32], 6: [0x100n, 8] },
};

function hasPurpose(address: Address, name: string): boolean {
  const [value, length] = (purposes[name] as { 4: readonly [bigint, number]; 6: readonly [bigint, number] })[
    address.family
  ];
  return startsWith(address, value, length);
}

/** As Go sees it: everything but the special ranges. */
function isGlobalUnicast({ address }: IPValue): boolean {
  return !['isUnspecified', 'isLoopback', 'isMulticast', 'isLinkLocalUnicast', 'isBroadcast'].some((name) =>
    hasPurpose(address, name),
  );
}

function containsIP(range: CIDRValue, address: Address): boolean {
  const free = BigInt(bits(range.address) - range.prefixLength);
  return range.address.family === address.family && range.address.value >> free === address.value >> free;
}

const containsCIDR = (range: CIDRValue, other: CIDRValue): boolean =>
  other.prefixLength >= range.prefixLength && containsIP(range, other.address);

function masked({ address, prefixLength }: CIDRValue): CIDRValue {
  const free = BigInt(bits(address) - prefixLength);
  return new CIDRValue({ ...address, value: (address.value >> free) << free }, prefixLength);
}

const walked = { cost: walkFirst };

export const addressLibrary = (): readonly Overload[] => [
  define('ip(string): IP', ip, walked),
  define('isIP(string): bool', (text: string) => parseAddress(text) !== undefined, walked),
  define('ip.isCanonical(string): bool', (text: string) => addressText(ip(text).address) === text, walked),
  define('string(IP): string', ({ address }: IPValue) => addressText(address)),
  define('IP.family(): int', ({ address }: IPValue) => BigInt(address.family)),
  ...['isUnspecified', 'isLoopback', 'isLinkLocalMulticast', 'isLinkLocalUnicast'].map((name) =>
    define(`IP.${name}(): bool`, ({ address }: IPValue) => hasPurpose(address, name)),
  ),
  define('IP.isGlobalUnicast(): bool', isGlobalUnicast),
  define('cidr(string): CIDR', cidr, walked),
  define('isCIDR(string): bool', (text: string) => succeeds(() => cidr(text)), walked),
  define(
    'string(CIDR): string',
    ({ address, prefixLength }: CIDRValue) => `${addressText(address)}/${prefixLength}`,
  ),
  define('CIDR.containsIP(IP): bool', (range: CIDRValue, { address }: IPValue) => containsIP(range, address)),
  define('CIDR.containsIP(string): bool', (range: CIDRValue, text: string) =>
    containsIP(range, ip(text).address),
  ),
  define('CIDR.containsCIDR(CIDR): bool', containsCIDR),
  define('CIDR.containsCIDR(string): bool', (range: CIDRValue, text: string) =>
    containsCIDR(range, cidr(text)),
  ),
  define('CIDR.ip(): IP', ({ address }: CIDRValue) => new IPValue(address)),
  define('CIDR.masked(): CIDR', masked),
  define('CIDR.prefixLength(): int', ({ prefixLength }: CIDRValue) => BigInt(prefixLength)),
];

class URLValue extends Opaque {
  readonly type = 'kubernetes.URL';
  constructor(
    readonly text: string,
    readonly scheme: string,
    readonly host: string,
    readonly path: string,
    readonly query: string,
  ) {
    super();
  }
  equals(other: Opaque): boolean {
    return other instanceof URLValue && other.text === this.text;
  }
}

/** An absolute URI or path, as Go's `ParseRequestURI` takes it. */
const uriShape = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:[^/?@]*@)?([^/?]*))?(\/[^?]*|)(?:\?(.*))?$/s;
const badEscape = /%(?![0-9A-Fa-f]{2})/;

/** What Go says of a text that is no URI. */
export function urlProblem(text: string): string | undefined {
  const problem = uriProblem(text, uriShape.exec(text));
  return problem === undefined ? undefined : `parse ${JSON.stringify(text)}: ${problem}`;
}

function url(text: string): URLValue {
  const problem = urlProblem(text);
  if (problem !== undefined) throw new CelError(`URL parse error during conversion from string: ${problem}`);
  const [, scheme = '', host = '', path = '', query = ''] = uriShape.exec(text) ?? [];
  return new URLValue(text, scheme.toLowerCase(), host, path, query);
}

function uriProblem(text: string, parts: RegExpExecArray | null): string | undefined {
  const [, scheme = '', host = '', path = ''] = parts ?? [];
  if (text === '') return 'empty url';
  if (/[\x00-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL';
  if (parts === null || (scheme === '' && !path.startsWith('/'))) return 'invalid URI for request';
  const wrong = badEscape.exec(path) ?? badEscape.exec(host);
  if (wrong !== null)
    return `invalid URL escape ${JSON.stringify((path.includes('%') ? path : host).slice(wrong.index, wrong.index + 3))}`;
  if (/[ "<>^`{|}\\]/.test(host))
    return `invalid character ${JSON.stringify(/[ "<>^`{|}\\]/.exec(host)?.[0])} in host name`;
  const port = /:([^:\]]*)$/.exec(host.startsWith('[') ? host.slice(host.indexOf(']')) : host);
  if (port !== null && !/^\d*$/.test(port[1] as string))
    return `invalid port ${JSON.stringify(port[0])} after host`;
  return undefined;
}

function hostname({ host }: URLValue): string {
  if (host.startsWith('[')) return host.slice(1, Math.max(1, host.indexOf(']')));
  const colon = host.lastIndexOf(':');
  return colon < 0 ? host : host.slice(0, colon);
}

function port({ host }: URLValue): string {
  const behind = host.startsWith('[') ? host.slice(host.indexOf(']') + 1) : host;
  const colon = behind.lastIndexOf(':');
  return colon < 0 ? '' : behind.slice(colon + 1);
}

const escapedPath = (path: string): string =>
  encodeURI(path).replaceAll('%25', '%').replace(/[[\]]/g, encodeURIComponent);

function queryMap({ query }: URLValue): EntryMap {
  const values = new Map<string, Value[]>();
  for (const pair of query === '' ? [] : query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const at = pair.indexOf('=');
    const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    try {
      const key = decodeURIComponent(name.replaceAll('+', ' '));
      const item = decodeURIComponent(value.replaceAll('+', ' '));
      values.set(key, [...(values.get(key) ?? []), item]);
    } catch {
      // Go leaves out what it cannot decode.
    }
  }
  return EntryMap.of(Array.from(values, ([key, items]) => [key, new ItemList(items)] as const));
}

export const urlLibrary = (): readonly Overload[] => [
  define('url(string): URL', url, walked),
  define('isURL(string): bool', (text: string) => succeeds(() => url(text)), walked),
  define('URL.getScheme(): string', ({ scheme }: URLValue) => scheme),
  define('URL.getHost(): string', ({ host }: URLValue) => host),
  define('URL.getHostname(): string', hostname),
  define('URL.getPort(): string', port),
  define('URL.getEscapedPath(): string', ({ path }: URLValue) => escapedPath(path)),
  define('URL.getQuery(): map(string, list(string))', queryMap),
];
