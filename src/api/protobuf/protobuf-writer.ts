/**
 * Writes the parts of a protobuf message from its end to its beginning: a message is preceded by its length, which is
 * known once it is written, so nothing has to be measured first. A value is therefore written before its tag.
 *
 * One writer is used for all messages, one after the other, and its memory is used again.
 */

/** Memory to begin with; it doubles as needed. */
const bytesAtFirst = 64 * 1024;
/** A writer that has grown beyond this gives its memory back after the message. */
const keptBytesMax = 1024 * 1024;
/** Memory that messages up to a size share; it is given back when none of them is used any more. */
const pieceBytes = 64 * 1024;
const sharedBytesMax = 8 * 1024;
/** Bytes of a varint of 64 bits. */
const varintBytesMax = 10;
/** Longer texts are written by Buffer, whose calls cost more than a short loop. */
const loopCharsMax = 32;

export class MessageWriter {
  #bytes = Buffer.allocUnsafeSlow(bytesAtFirst);
  /** Where the written part begins. */
  #at = bytesAtFirst;
  /** Memory that small messages share, and where the rest of it begins. */
  #piece = Buffer.alloc(0);
  #pieceAt = 0;

  /** Bytes written so far: the length of a value is the difference of before and after. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** A copy of what was written; the writer is empty again. */
  take(): Buffer {
    const message = this.memory(this.length);
    this.#bytes.copy(message, 0, this.#at);
    if (this.#bytes.length > keptBytesMax) this.#bytes = Buffer.allocUnsafeSlow(bytesAtFirst);
    this.#at = this.#bytes.length;
    return message;
  }

  /** Memory for a message: small ones share a piece, because allocating each took a quarter of the time of a pod. */
  memory(length: number): Buffer {
    if (length > sharedBytesMax) return Buffer.allocUnsafeSlow(length);
    if (this.#pieceAt + length > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(pieceBytes);
      this.#pieceAt = 0;
    }
    this.#pieceAt += length;
    return this.#piece.subarray(this.#pieceAt - length, this.#pieceAt);
  }

  /** Forgets what was written, because an error occurred. */
  reset(): void {
    this.#at = this.#bytes.length;
  }

  #reserve(bytes: number): void {
    if (this.#at >= bytes) return;
    const { length } = this;
    let size = this.#bytes.length * 2;
    while (size < length + bytes) size *= 2;
    const grown = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(grown, size - length, this.#at);
    this.#bytes = grown;
    this.#at = size - length;
  }

  /** A whole number up to 2^53 in size; negative ones have ten bytes. */
  varint(value: number): void {
    if (value >= 0 && value < 0x80) {
      this.#reserve(1);
      this.#bytes[--this.#at] = value;
      return;
    }
    this.#varint(value >>> 0, Math.floor(value / 0x1_0000_0000) >>> 0);
  }

  /** A whole number of 64 bits. */
  bigVarint(value: bigint): void {
    const bits = BigInt.asUintN(64, value);
    this.#varint(Number(bits & 0xffff_ffffn), Number(bits >> 32n));
  }

  #varint(low: number, high: number): void {
    this.#reserve(varintBytesMax);
    let size = 1;
    for (let [l, h] = [(low >>> 7) | (high << 25), high >>> 7]; l !== 0 || h !== 0; size++) {
      l = (l >>> 7) | (h << 25);
      h >>>= 7;
    }
    const start = this.#at - size;
    for (let i = 0; i < size; i++) {
      this.#bytes[start + i] = (low & 0x7f) | (i < size - 1 ? 0x80 : 0);
      low = (low >>> 7) | (high << 25);
      high >>>= 7;
    }
    this.#at = start;
  }

  /** The text without its length. */
  text(text: string): void {
    const { length } = text;
    if (length <= loopCharsMax && this.#ascii(text, length)) return;
    const bytes = Buffer.byteLength(text);
    this.#reserve(bytes);
    this.#at -= bytes;
    // Text of one byte for each character is copied.
    this.#bytes.write(text, this.#at, bytes, bytes === length ? 'latin1' : 'utf8');
  }

  /** False when the text has other characters; nothing is written then. */
  #ascii(text: string, length: number): boolean {
    this.#reserve(length);
    const bytes = this.#bytes;
    const start = this.#at - length;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      bytes[start + i] = code;
    }
    this.#at = start;
    return true;
  }

  /** Bytes that are there already. */
  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }
}
