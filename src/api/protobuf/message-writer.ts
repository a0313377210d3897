/**
 * Writes small messages field by field, as calls of gRPC need them: from the beginning on, with messages inside that are
 * made before, and without copying what is large twice. Objects of the API are written by `protobuf-writer.ts`, from their
 * end on, because they are deep and their values short.
 */

export class MessageWriter {
  readonly #parts: Buffer[] = [];
  #small: number[] = [];
  #bytes = 0;

  /** Writes a number also when it is 0; a caller leaves a field out if 0 is its default. */
  number(field: number, value: number): this {
    this.#varint(field * 8);
    this.#varint(value);
    return this;
  }

  /** A number that may be negative: then it has all of its 64 bits. */
  signed(field: number, value: number): this {
    if (value >= 0) return this.number(field, value);
    this.#varint(field * 8);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) this.#small.push(Number(rest & 127n) + 128);
    this.#small.push(Number(rest));
    return this;
  }

  /** Numbers in one field. */
  numbers(field: number, values: readonly number[]): this {
    const inner = new MessageWriter();
    for (const value of values) inner.#varint(value);
    return this.message(field, inner);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  bytes(field: number, value: Buffer): this {
    this.#varint(field * 8 + 2);
    this.#varint(value.length);
    this.#flush();
    this.#parts.push(value);
    this.#bytes += value.length;
    return this;
  }

  message(field: number, inner: MessageWriter): this {
    inner.#flush();
    this.#varint(field * 8 + 2);
    this.#varint(inner.#bytes);
    this.#flush();
    for (const part of inner.#parts) this.#parts.push(part);
    this.#bytes += inner.#bytes;
    return this;
  }

  finish(): Buffer {
    this.#flush();
    return Buffer.concat(this.#parts, this.#bytes);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#small.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.#small.push(rest);
  }

  #flush(): void {
    if (this.#small.length === 0) return;
    this.#parts.push(Buffer.from(this.#small));
    this.#bytes += this.#small.length;
    this.#small = [];
  }
}
