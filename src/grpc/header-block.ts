/**
 * Headers in HTTP/2 (HPACK, RFC 7541). Requests write all headers as plain text. Answers may refer to headers by their
 * index in a table, which grows with each connection, or contain them as text.
 */
import { FieldDecoder } from '../http2/field-decoder.ts';
import { fieldProblem } from './response-rules.ts';

export type Headers = Readonly<Record<string, string>>;

/** The headers of one frame, and why one of them is invalid; undefined when all are valid. */
export interface HeaderBlock {
  readonly fields: Headers;
  readonly problem: string | undefined;
}

/** Headers of requests, with their encoded form, which is made once and only if it is wanted. */
export class RequestHeaders {
  #block: Buffer | undefined;

  constructor(
    readonly fields: Headers,
    private readonly encode = (): Buffer => encodeHeaders(fields),
  ) {}

  get block(): Buffer {
    this.#block ??= this.encode();
    return this.#block;
  }

  with(more: Headers): RequestHeaders {
    return new RequestHeaders({ ...this.fields, ...more }, () =>
      Buffer.concat([this.block, encodeHeaders(more)]),
    );
  }
}

/** Encodes headers as plain text, independent of earlier blocks. */
export function encodeHeaders(headers: Headers): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(headers)) parts.push(Buffer.from([0]), text(name), text(value));
  return Buffer.concat(parts);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** Decodes the header blocks of one connection. It must see all of them, in order. */
export class HeaderDecoder {
  readonly #decoder = new FieldDecoder();
  /**
   * Cache of decoded blocks that consist of two table indexes, until the table changes: gRPC servers nearly always
   * answer with these.
   */
  readonly #pairs = new Map<number, HeaderBlock>();
  #changes = 0;

  /** Throws when the block is invalid; then nothing more can be read from the connection. */
  decode(block: Buffer): HeaderBlock {
    if (!isPair(block)) return this.#decode(block);
    if (this.#changes !== this.#decoder.changes) this.#pairs.clear();
    this.#changes = this.#decoder.changes;
    const pair = block.readUInt16BE(0);
    let headers = this.#pairs.get(pair);
    if (!headers) {
      headers = this.#decode(block);
      this.#pairs.set(pair, headers);
    }
    return headers;
  }

  /** Decodes all fields even if one is malformed, because later blocks refer to them. */
  #decode(block: Buffer): HeaderBlock {
    const fields: Record<string, string> = {};
    let problem: string | undefined;
    let hasRegular = false;
    for (const { name, value } of this.#decoder.decode(block)) {
      problem ??= fieldProblem(name, value, hasRegular, Object.hasOwn(fields, name));
      hasRegular ||= !name.startsWith(':');
      fields[name] = value;
    }
    return { fields, problem };
  }
}

/** Whether a block consists of two table indexes of one byte each. */
const isPair = (block: Buffer): boolean =>
  block.length === 2 && block[0]! >= 0x80 && block[0] !== 0xff && block[1]! >= 0x80 && block[1] !== 0xff;
