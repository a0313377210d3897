/** Subject alternative names: the hosts, addresses and so on that a certificate is for. */
import { isIPv4 } from 'node:net';
import { DerReader } from './der-reader.ts';
import { implicit, sequence } from './der-writer.ts';

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly ips: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export const noNames: AlternativeNames = { dns: [], ips: [], emails: [], uris: [] };

/** A certificate or a request with more is refused. */
const namesMax = 1_000;

/** Numbers of the kinds in the extension. */
const kinds = { email: 1, dns: 2, uri: 6, ip: 7 } as const;

export const isEmpty = ({ dns, ips, emails, uris }: AlternativeNames): boolean =>
  dns.length + ips.length + emails.length + uris.length === 0;

/** Splits hosts, which may be names and addresses mixed, without duplicates. */
export function namesOf(hosts: readonly string[]): AlternativeNames {
  const unique = [...new Set(hosts)];
  // Only IPv6 addresses have colons; Node's own check compiles a pattern, which takes longer than reading all
  // certificates.
  const isAddress = (host: string): boolean => isIPv4(host) || host.includes(':');
  return { ...noNames, dns: unique.filter((host) => !isAddress(host)), ips: unique.filter(isAddress) };
}

export function encodeNames({ dns, ips, emails, uris }: AlternativeNames): Buffer {
  const text = (kind: number) => (value: string) => implicit(kind, Buffer.from(value, 'latin1'));
  return sequence(
    ...dns.map(text(kinds.dns)),
    ...emails.map(text(kinds.email)),
    ...ips.map((ip) => implicit(kinds.ip, addressBytes(ip))),
    ...uris.map(text(kinds.uri)),
  );
}

/** @param value of the extension */
export function readNames(value: Buffer): AlternativeNames {
  const names = { dns: [] as string[], ips: [] as string[], emails: [] as string[], uris: [] as string[] };
  const outer = new DerReader(value);
  const list = outer.enter(0x30);
  outer.end();
  for (let count = 0; !list.atEnd; count++) {
    if (count >= namesMax) throw new Error(`there are more than ${namesMax} alternative names`);
    const { tag, body } = list.take();
    if (tag === (0x80 | kinds.dns)) names.dns.push(ascii(body));
    else if (tag === (0x80 | kinds.email)) names.emails.push(ascii(body));
    else if (tag === (0x80 | kinds.uri)) names.uris.push(ascii(body));
    else if (tag === (0x80 | kinds.ip)) names.ips.push(addressText(body));
    else throw new Error('an alternative name is of a kind that is not supported');
  }
  return names;
}

function ascii(body: Buffer): string {
  const text = body.toString('latin1');
  if (!/^[\x21-\x7e]*$/.test(text)) throw new Error('an alternative name holds other characters than ASCII');
  return text;
}

function addressBytes(ip: string): Buffer {
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number));
  return ipv6Bytes(ip);
}

/** A URL writes an IPv6 address in its shortest form, without dots. */
function ipv6Bytes(ip: string): Buffer {
  const text = new URL(`http://[${ip.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [front = '', back] = text.split('::');
  const words = (part: string): number[] => (part ? part.split(':').map((word) => parseInt(word, 16)) : []);
  const left = words(front);
  const right = back === undefined ? [] : words(back);
  const bytes = Buffer.alloc(16);
  for (const [at, word] of left.entries()) bytes.writeUInt16BE(word, 2 * at);
  for (const [at, word] of right.entries()) bytes.writeUInt16BE(word, 16 - 2 * (right.length - at));
  return bytes;
}

function addressText(body: Buffer): string {
  if (body.length === 4) return [...body].join('.');
  if (body.length !== 16) throw new Error('an address has neither 4 nor 16 bytes');
  const words = Array.from({ length: 8 }, (_, at) => body.readUInt16BE(2 * at).toString(16));
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
}
