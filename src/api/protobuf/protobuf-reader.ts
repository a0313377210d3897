/**
 * Reads the wire format of protobuf: varints, texts, lengths, and fields to be skipped. Bodies of requests and answers to
 * calls of gRPC are read by it.
 */
import { isUtf8 } from 'node:buffer';

/** List items, map entries and messages in one body: two bytes can encode an item, which takes fifty in memory. */
const itemsMax = 200_000;
/** Bodies up to this size are decoded to one string, of which texts are slices: much cheaper than a call for each. */
const sliceBytesMax = 16_384;
/** Bytes of a varint: ten hold 64 bits. */
const varintBytesMax = 10;

export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtobufError';
  }
}

// Wire types.
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** A reader with a position in the bytes of one body. */
export class Reader {
  at: number;
  /** End of the innermost message being read. */
  end: number;
  /** Upper half of the last varint. */
  high = 0;
  #items = 0;
  /** The body as Latin-1, made for the first text. Slices keep it alive, so it is used for small bodies only. */
  #latin1: string | undefined;

  constructor(
    readonly bytes: Buffer,
    start: number,
  ) {
    this.at = start;
    this.end = bytes.length;
  }

  /** Reads up to 64 bits: the lower 32 are returned, the upper 32 are in `high`; both unsigned. */
  varint(): number {
    let low = 0;
    let high = 0;
    for (let count = 0; count < varintBytesMax; count += 1) {
      if (this.at >= this.end) throw new ProtobufError('unexpected EOF');
      const byte = this.bytes[this.at]!;
      this.at += 1;
      const bits = byte & 0x7f;
      if (count < 4) low |= bits << (7 * count);
      else if (count === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * count - 32);
      if (byte >= 0x80) continue;
      // The tenth byte has only one bit left.
      if (count === varintBytesMax - 1 && byte > 1) break;
      this.high = high >>> 0;
      return low >>> 0;
    }
    throw new ProtobufError('proto: integer overflow');
  }

  /** Field number and wire type. */
  tag(message: string): number {
    const tag = this.varint();
    if (this.high !== 0 || tag < 8) {
      throw new ProtobufError(`proto: ${message}: illegal tag ${tag >>> 3} (wire type ${tag & 7})`);
    }
    return tag;
  }

  /** Reads a length; returns the end of the value that follows. */
  length(): number {
    const length = this.varint();
    if (this.high !== 0 || length > this.end - this.at) throw new ProtobufError('unexpected EOF');
    return this.at + length;
  }

  text(): string {
    const end = this.length();
    const start = this.at;
    this.at = end;
    if (start === end) return '';
    if (this.bytes.length <= sliceBytesMax && this.#isAscii(start, end)) {
      this.#latin1 ??= this.bytes.toString('latin1');
      return this.#latin1.slice(start, end);
    }
    const text = this.bytes.toString('utf8', start, end);
    // Invalid UTF-8 is decoded as U+FFFD; only then are the bytes checked.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end))) {
      throw new ProtobufError('proto: string field contains invalid UTF-8');
    }
    return text;
  }

  #isAscii(start: number, end: number): boolean {
    let bits = 0;
    for (let at = start; at < end; at += 1) bits |= this.bytes[at]!;
    return bits < 0x80;
  }

  countItem(): void {
    this.#items += 1;
    if (this.#items > itemsMax) throw new ProtobufError('proto: too many items');
  }

  /** Skips an unknown field. Groups, a deprecated feature of protobuf, are refused. */
  skip(tag: number, message: string): void {
    const wire = tag & 7;
    if (wire === VARINT) this.varint();
    else if (wire === BYTES) this.at = this.length();
    else if (wire === FIXED64 || wire === FIXED32) {
      this.at += wire === FIXED64 ? 8 : 4;
      if (this.at > this.end) throw new ProtobufError('unexpected EOF');
    } else if (wire === START_GROUP || wire === END_GROUP) {
      throw new ProtobufError(`proto: ${message}: groups are not supported`);
    } else throw new ProtobufError(`proto: ${message}: illegal wireType ${wire}`);
  }
}
