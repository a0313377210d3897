/**
 * Headers in HTTP/2 (HPACK, RFC 7541). Requests write all headers as plain text. Answers may refer to headers by their
 * index in a table, which grows with each connection, or contain them as text.
 */
import { ConnectionError, Reason } from '../http2/frame-rules.ts';
import { decodeHuffman } from '../http2/huffman.ts';
import { fieldProblem } from './response-rules.ts';

/** The static table: headers that every connection knows, from index 1 on. */
const known: readonly (readonly [string, string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((status) => [':status', status] as const),
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...`accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control
    content-disposition content-encoding content-language content-length content-location content-range content-type
    cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since
    last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after
    server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate`
    .split(/\s+/)
    .map((name) => [name, ''] as const),
];

/** Maximum size of the dynamic table, counted as the RFC does. Larger ones are never allowed. */
const TABLE_BYTES_MAX = 4096;
const ENTRY_OVERHEAD = 32;
/** Maximum number of table size changes at the beginning of one block. */
const RESIZES_MAX = 2;

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
  /** The dynamic table: headers that this connection has added, the newest first. */
  readonly #added: (readonly [string, string])[] = [];
  #addedBytes = 0;
  /**
   * Cache of decoded blocks that consist of two table indexes, until the table changes: gRPC servers nearly always
   * answer with these.
   */
  readonly #pairs = new Map<number, HeaderBlock>();
  #bytesMax = TABLE_BYTES_MAX;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Throws when the block is invalid; then nothing more can be read from the connection. */
  decode(block: Buffer): HeaderBlock {
    try {
      if (!isPair(block)) return this.#decode(block);
      const pair = block.readUInt16BE(0);
      let headers = this.#pairs.get(pair);
      if (!headers) {
        headers = this.#decode(block);
        this.#pairs.set(pair, headers);
      }
      return headers;
    } catch (error) {
      throw new ConnectionError(Reason.compression, (error as Error).message);
    }
  }

  /** Decodes all fields even if one is malformed, because later blocks refer to them. */
  #decode(block: Buffer): HeaderBlock {
    this.#block = block;
    this.#at = 0;
    const fields: Record<string, string> = {};
    let problem: string | undefined;
    let hasRegular = false;
    this.#resize();
    while (this.#at < block.length) {
      const [name, value] = this.#field(block[this.#at]!);
      problem ??= fieldProblem(name, value, hasRegular, Object.hasOwn(fields, name));
      hasRegular ||= !name.startsWith(':');
      fields[name] = value;
    }
    return { fields, problem };
  }

  #field(first: number): readonly [string, string] {
    if (first >= 0x80) return this.#entry(this.#number(7));
    if (first >= 0x40) return this.#add(this.#literal(6));
    if (first < 0x20) return this.#literal(4);
    throw new Error('the table of headers changes its size in the middle of a block');
  }

  /**
   * Applies table size changes at the beginning of a block: the smallest size since the last block, and the current
   * one.
   */
  #resize(): void {
    for (let count = 0; (this.#block[this.#at] ?? 0) >> 5 === 1; count++) {
      const bytesMax = this.#number(5);
      if (bytesMax > TABLE_BYTES_MAX || count >= RESIZES_MAX)
        throw new Error('a table of headers is too large');
      this.#bytesMax = bytesMax;
      this.#pairs.clear();
      this.#shrink();
    }
  }

  #literal(prefixBits: number): readonly [string, string] {
    const index = this.#number(prefixBits);
    const name = index === 0 ? this.#text() : this.#entry(index)[0];
    return [name, this.#text()];
  }

  #entry(index: number): readonly [string, string] {
    const entry = index <= known.length ? known[index - 1] : this.#added[index - known.length - 1];
    if (!entry) throw new Error(`there is no header ${index}`);
    return entry;
  }

  #add(entry: readonly [string, string]): readonly [string, string] {
    this.#pairs.clear();
    this.#added.unshift(entry);
    this.#addedBytes += sizeOf(entry);
    this.#shrink();
    return entry;
  }

  #shrink(): void {
    while (this.#addedBytes > this.#bytesMax) this.#addedBytes -= sizeOf(this.#added.pop()!);
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw new Error('headers end too early');
    return byte;
  }

  #number(prefixBits: number): number {
    const full = 2 ** prefixBits - 1;
    let value = this.#byte() & full;
    if (value < full) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (value > 2 ** 31) throw new Error('a number in headers is too large');
      if (byte < 128) return value;
    }
  }

  #text(): string {
    const isCoded = (this.#block[this.#at] ?? 0) >= 0x80;
    const length = this.#number(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new Error('headers end too early');
    this.#at += length;
    return (isCoded ? decodeHuffman(bytes) : bytes).toString('latin1');
  }
}

/** Whether a block consists of two table indexes of one byte each. */
const isPair = (block: Buffer): boolean =>
  block.length === 2 && block[0]! >= 0x80 && block[0] !== 0xff && block[1]! >= 0x80 && block[1] !== 0xff;

const sizeOf = ([name, value]: readonly [string, string]): number =>
  name.length + value.length + ENTRY_OVERHEAD;
