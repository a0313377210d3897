/**
 * Reads a message field by field, as calls of gRPC need it: what is known is read, all else skipped. The wire format is read
 * by `protobuf-reader.ts`, which also reads objects of the API. Most numbers are below 2^53; those of 64 bits can be read as
 * text.
 */
import { BYTES, ProtobufError, Reader, VARINT } from './protobuf-reader.ts';

export class MessageReader {
  field = 0;
  #tag = 0;
  readonly #wire: Reader;
  /** Where this message ends. Messages inside it are read from the same bytes, by readers of their own. */
  readonly #end: number;
  /** Where the field behind the current one begins, when that is a message with a reader of its own. */
  #next: number | undefined;

  constructor(source: Buffer | Reader, end?: number) {
    this.#wire = source instanceof Reader ? source : new Reader(source, 0);
    this.#end = end ?? this.#wire.end;
  }

  /** Moves to the next field; false at the end of the message. Each field has to be read or skipped. */
  next(): boolean {
    const wire = this.#wire;
    if (this.#next !== undefined) {
      wire.at = this.#next;
      this.#next = undefined;
    }
    if (wire.at >= this.#end) return false;
    wire.end = this.#end;
    this.#tag = wire.tag('message');
    this.field = this.#tag >>> 3;
    return true;
  }

  /** Numbers from 2^53 on lose their last digits, and negative ones come out above 2^63. */
  number(): number {
    this.#expect(VARINT);
    const low = this.#wire.varint();
    return this.#wire.high * 0x1_0000_0000 + low;
  }

  /** A number of 64 bits, as decimal text. */
  id(): string {
    this.#expect(VARINT);
    const low = this.#wire.varint();
    return ((BigInt(this.#wire.high) << 32n) | BigInt(low)).toString();
  }

  /** The bytes are copied: a slice would keep the whole message in memory. */
  bytes(): Buffer {
    const from = this.#content();
    return Buffer.from(this.#wire.bytes.subarray(from, this.#wire.at));
  }

  /** Bytes that are not UTF-8 become U+FFFD: a peer's text is shown to people, and never stored as an object. */
  text(): string {
    const from = this.#content();
    return this.#wire.bytes.toString('utf8', from, this.#wire.at);
  }

  /** To be read before the next field of this message. */
  message(): MessageReader {
    const from = this.#content();
    this.#next = this.#wire.at;
    this.#wire.at = from;
    return new MessageReader(this.#wire, this.#next);
  }

  skip(): void {
    this.#wire.skip(this.#tag, 'message');
  }

  /** Moves behind a length-delimited field and returns where its content begins. */
  #content(): number {
    this.#expect(BYTES);
    const end = this.#wire.length();
    const from = this.#wire.at;
    this.#wire.at = end;
    return from;
  }

  #expect(wireType: number): void {
    if ((this.#tag & 7) !== wireType)
      throw new ProtobufError(`proto: message: wrong wireType = ${this.#tag & 7} for field ${this.field}`);
  }
}
