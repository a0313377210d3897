/**
 * Protocol buffers as far as the messages of etcd and of container engines use them: varints and length-delimited fields.
 * Most numbers are below 2^53; those of 64 bits can be read as text.
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

export class MessageReader {
  field = 0;
  #wireType = 0;
  #at: number;
  readonly #end: number;
  readonly #source: Buffer;

  constructor(source: Buffer, from = 0, end = source.length) {
    this.#source = source;
    this.#at = from;
    this.#end = end;
  }

  /** Moves to the next field; false at the end of the message. Each field has to be read or skipped. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.number();
    this.field = Math.floor(tag / 8);
    this.#wireType = tag % 8;
    return true;
  }

  /** Numbers from 2^53 on lose their last digits, and negative ones come out above 2^63. */
  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  /** A number of 64 bits, as decimal text. */
  id(): string {
    let value = 0n;
    let shift = 0n;
    for (;;) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value.toString();
      shift += 7n;
    }
  }

  /** The bytes are copied: a slice would keep the whole message in memory. */
  bytes(): Buffer {
    const from = this.#length();
    return Buffer.from(this.#source.subarray(from, this.#at));
  }

  text(): string {
    const from = this.#length();
    return this.#source.toString('utf8', from, this.#at);
  }

  message(): MessageReader {
    const from = this.#length();
    return new MessageReader(this.#source, from, this.#at);
  }

  skip(): void {
    if (this.#wireType === 0) this.number();
    else if (this.#wireType === 2) this.#length();
    else if (this.#wireType === 1) this.#move(8);
    else if (this.#wireType === 5) this.#move(4);
    else throw new Error(`a message has a field of unknown type ${this.#wireType}`);
  }

  /** Moves behind a length-delimited field and returns where its content begins. */
  #length(): number {
    const length = this.number();
    const from = this.#at;
    this.#move(length);
    return from;
  }

  #move(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#end) throw new Error('a message ends too early');
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new Error('a message ends too early');
    return this.#source[this.#at++]!;
  }
}
