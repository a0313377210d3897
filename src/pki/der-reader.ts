/**
 * Reads DER, value by value, from bytes that may be hostile. Lengths must fit the input and have the short form;
 * nesting is bounded, because readers only go as deep as their structure.
 */

/** What cannot be read; the message says why. */
export class DerError extends Error {}

export interface DerValue {
  readonly tag: number;
  readonly body: Buffer;
  /** The value with tag and length. */
  readonly whole: Buffer;
}

export class DerReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  get atEnd(): boolean {
    return this.#at >= this.bytes.length;
  }

  /** The tag of the next value; undefined at the end. */
  get nextTag(): number | undefined {
    return this.bytes[this.#at];
  }

  /** The next value, which must have this tag, if one is named. */
  take(tag?: number): DerValue {
    const start = this.#at;
    const found = this.#byte();
    if ((found & 0x1f) === 0x1f) throw new DerError('tags of several bytes are not used in certificates');
    if (tag !== undefined && found !== tag)
      throw new DerError(`expected tag 0x${tag.toString(16)}, not 0x${found.toString(16)}`);
    const length = this.#length();
    const from = this.#at;
    if (length > this.bytes.length - from) throw new DerError('a value is longer than the data');
    this.#at = from + length;
    return {
      tag: found,
      body: this.bytes.subarray(from, this.#at),
      whole: this.bytes.subarray(start, this.#at),
    };
  }

  /** Reads what is inside the next value. */
  enter(tag?: number): DerReader {
    return new DerReader(this.take(tag).body);
  }

  /** The next value if it has this tag. */
  optional(tag: number): DerValue | undefined {
    return this.nextTag === tag ? this.take(tag) : undefined;
  }

  end(): void {
    if (!this.atEnd) throw new DerError('there is more data than expected');
  }

  #byte(): number {
    const byte = this.bytes[this.#at++];
    if (byte === undefined) throw new DerError('the data ends early');
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError('a length cannot be read');
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte();
    if (length < 0x80 || (count > 1 && length < 256 ** (count - 1)))
      throw new DerError('a length is written in more bytes than needed');
    return length;
  }
}

/** The text of an object identifier. */
export function oidText(body: Buffer): string {
  const numbers: number[] = [];
  let value = 0;
  for (const [at, byte] of body.entries()) {
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw new DerError('an object identifier is too large');
    if (byte & 0x80) {
      if (at === body.length - 1) throw new DerError('an object identifier ends early');
      continue;
    }
    numbers.push(value);
    value = 0;
  }
  const [first, ...rest] = numbers;
  if (first === undefined) throw new DerError('an object identifier is empty');
  const root = Math.min(Math.floor(first / 40), 2);
  return [root, first - root * 40, ...rest].join('.');
}
