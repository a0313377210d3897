/** Decodes the header blocks that one side of a connection sends (HPACK, RFC 7541). It must see all of them, in order. */
import { Field, FieldTable, TABLE_BYTES_MAX } from './field-table.ts';
import { ConnectionError, Reason } from './frame-rules.ts';
import { decodeHuffman } from './huffman.ts';

/** Maximum number of table size changes at the beginning of one block. */
const RESIZES_MAX = 2;

interface FieldBounds {
  /** Maximum size of the decoded headers of a block, as the RFC counts it. */
  readonly bytesMax: number;
  readonly countMax: number;
}

const unbounded: FieldBounds = { bytesMax: Number.POSITIVE_INFINITY, countMax: Number.POSITIVE_INFINITY };

export class FieldDecoder {
  readonly #table = new FieldTable();
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  /** Whether the block that was decoded last was beyond the bounds: its fields were not all kept. */
  isOver = false;

  constructor(private readonly bounds = unbounded) {}

  /** A number that changes when the same block may have another meaning. */
  get changes(): number {
    return this.#table.changes;
  }

  /**
   * The fields of a block. Throws when it is invalid; then nothing more can be read from the connection. Each index of a
   * table costs its sender a byte, so fields beyond the bounds are decoded for the table, and not kept.
   */
  decode(block: Buffer, begin = 0, end = block.length): Field[] {
    try {
      return this.#decode(block, begin, end);
    } catch (error) {
      throw new ConnectionError(Reason.compression, (error as Error).message);
    }
  }

  #decode(block: Buffer, begin: number, end: number): Field[] {
    this.#block = block;
    this.#at = begin;
    this.#end = end;
    const { bytesMax, countMax } = this.bounds;
    const fields: Field[] = [];
    let bytes = 0;
    this.isOver = false;
    this.#resize();
    while (this.#at < end) {
      const field = this.#field(block[this.#at]!);
      bytes += field.bytes;
      if (bytes > bytesMax || fields.length === countMax) this.isOver = true;
      else fields.push(field);
    }
    return fields;
  }

  #field(first: number): Field {
    if (first >= 0x80) return this.#entry(this.#number(0x7f));
    if (first >= 0x40) {
      const field = this.#literal(0x3f);
      this.#table.add(field);
      return field;
    }
    if (first < 0x20) return this.#literal(0x0f);
    throw new Error('the table of headers changes its size in the middle of a block');
  }

  /**
   * Applies table size changes at the beginning of a block: the smallest size since the last block, and the current
   * one.
   */
  #resize(): void {
    for (let count = 0; this.#at < this.#end && this.#block[this.#at]! >> 5 === 1; count++) {
      const bytesMax = this.#number(0x1f);
      if (bytesMax > TABLE_BYTES_MAX || count >= RESIZES_MAX)
        throw new Error('a table of headers is too large');
      this.#table.resize(bytesMax);
    }
  }

  #literal(prefix: number): Field {
    const index = this.#number(prefix);
    const name = index === 0 ? this.#text() : this.#entry(index).name;
    return new Field(name, this.#text());
  }

  #entry(index: number): Field {
    const field = this.#table.at(index);
    if (!field) throw new Error(`there is no header ${index}`);
    return field;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new Error('headers end too early');
    return this.#block[this.#at++]!;
  }

  /** @param full the bits of the first byte that belong to the number */
  #number(full: number): number {
    let value = this.#byte() & full;
    if (value < full) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      // A long row of zeros has no end either.
      if (value > 2 ** 31 || scale > 2 ** 31) throw new Error('a number in headers is too large');
      if (byte < 128) return value;
    }
  }

  #text(): string {
    const isCoded = this.#at < this.#end && this.#block[this.#at]! >= 0x80;
    const length = this.#number(0x7f);
    const at = this.#at;
    const end = at + length;
    if (end > this.#end) throw new Error('headers end too early');
    this.#at = end;
    return isCoded ? decodeHuffman(this.#block, at, end) : this.#block.toString('latin1', at, end);
  }
}
