/** Writes DER, the binary form of certificates: each function returns the bytes of one value. */

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** From this year on, times are written with a four-digit year. */
const generalizedFrom = 2050;

/** A value with its tag and length in front. */
export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(length)]), ...parts]);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(tags.sequence, ...parts);

/** A set; DER sorts its members by their bytes. */
export const set = (...parts: readonly Uint8Array[]): Buffer =>
  tagged(tags.set, ...parts.map((part) => Buffer.from(part)).sort(Buffer.compare));

/** `[n]` with a value inside, or in place of the value's own tag. */
export const explicit = (number: number, ...parts: readonly Uint8Array[]): Buffer =>
  tagged(0xa0 | number, ...parts);
export const implicit = (number: number, bytes: Uint8Array): Buffer => tagged(0x80 | number, bytes);

export const boolean = (value: boolean): Buffer => tagged(tags.boolean, Buffer.from([value ? 0xff : 0]));

/** An unsigned integer from bytes, most significant first. */
export function unsigned(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const rest = bytes.subarray(start);
  return rest[0]! & 0x80 ? tagged(tags.integer, Buffer.from([0]), rest) : tagged(tags.integer, rest);
}

export const octetString = (bytes: Uint8Array): Buffer => tagged(tags.octetString, bytes);

/** @param unused number of unused bits at the end of the last byte */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer =>
  tagged(tags.bitString, Buffer.from([unused]), bytes);

export const utf8String = (text: string): Buffer => tagged(tags.utf8String, Buffer.from(text, 'utf8'));

/** An object identifier such as `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tagged(tags.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(0x80 | (rest % 128));
  return bytes;
}

/** A time; seconds are the smallest unit. */
export function time(ms: number): Buffer {
  const text = `${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')}`;
  return Number(text.slice(0, 4)) >= generalizedFrom
    ? tagged(tags.generalizedTime, Buffer.from(text, 'latin1'))
    : tagged(tags.utcTime, Buffer.from(text.slice(2), 'latin1'));
}
