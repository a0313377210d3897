/**
 * Documents about the API itself: built at the first request and cached. Clients cache them by their ETag and
 * revalidate.
 */
import { createHash } from 'node:crypto';
import { constants, gzip } from 'node:zlib';
import { jsonText } from '../../api/text/json-text.ts';
import { acceptsGzip, apiHeaders, gzipBytesMin } from './answer.ts';
import type { Headers, RequestContext } from './context.ts';

/** Longer documents are compressed quickly: that of a platform with hundreds of kinds changes often. */
export const longBytes = 8 * 1024 * 1024;

export class ApiDocument {
  /** Hash of the content, in hexadecimal. */
  readonly hash: string;
  readonly #length: number;
  #compressed: Promise<Buffer> | undefined;

  /**
   * @param content its bytes, or pieces that are put together for a client who does not take gzip
   * @param hash that of the bytes, if it is known
   * @param compress gives the gzip of the bytes, if there is a quicker way than to compress all of them
   */
  constructor(
    readonly contentType: string,
    private readonly content: Buffer | readonly Buffer[],
    hash?: string,
    private readonly compress?: () => Promise<Buffer>,
  ) {
    this.#length = Array.isArray(content)
      ? content.reduce((sum, piece) => sum + piece.length, 0)
      : (content as Buffer).length;
    this.hash = hash ?? createHash('sha256').update(this.bytes).digest('hex').toUpperCase();
  }

  get bytes(): Buffer {
    return Buffer.isBuffer(this.content) ? this.content : Buffer.concat(this.content);
  }

  static json(value: unknown, contentType = 'application/json'): ApiDocument {
    return new ApiDocument(contentType, Buffer.from(`${jsonText(value)}\n`));
  }

  /** The same for a large object, in slices: each `yield` reports about how many steps it took. */
  static *jsonInSlices(value: object): Generator<number, ApiDocument> {
    const pieces: string[] = [];
    for (const piece of jsonPieces(value, 2)) {
      pieces.push(piece);
      yield piece.length;
    }
    return new ApiDocument('application/json', Buffer.from(`${pieces.join('')}\n`));
  }

  /** Answers a GET or HEAD. `more` are headers that replace the default ones. */
  async answer(context: RequestContext, more: Headers = {}): Promise<void> {
    const { request, response } = context;
    const compressible = this.#length >= gzipBytesMin;
    const headers: Headers = {
      ...apiHeaders(context, this.contentType),
      ETag: `"${this.hash}"`,
      Vary: compressible ? 'Accept, Accept-Encoding' : 'Accept',
      ...more,
    };
    if (isKnown(request.headers['if-none-match'], this.hash)) {
      const { 'Content-Type': _, ...rest } = headers;
      response.writeHead(304, rest);
      response.end();
      return;
    }
    const isZipped = compressible && acceptsGzip(context);
    if (isZipped) headers['Content-Encoding'] = 'gzip';
    const body = isZipped ? await this.gzipped() : this.bytes;
    response.writeHead(200, { ...headers, 'Content-Length': String(body.length) });
    response.end(context.info.method === 'HEAD' ? undefined : body);
  }

  gzipped(): Promise<Buffer> {
    this.#compressed ??=
      this.compress?.() ??
      new Promise((resolve, reject) =>
        gzip(
          this.bytes,
          { level: this.#length > longBytes ? constants.Z_BEST_SPEED : constants.Z_DEFAULT_COMPRESSION },
          (error, bytes) => (error ? reject(error) : resolve(bytes)),
        ),
      );
    return this.#compressed;
  }
}

/** Whether the client's `If-None-Match` has this document's tag; `*` matches any. */
function isKnown(ifNoneMatch: string | undefined, hash: string): boolean {
  if (!ifNoneMatch) return false;
  return ifNoneMatch.split(',').some((tag) => {
    const text = tag.trim();
    return text === '*' || text.replace(/^W\//, '') === `"${hash}"`;
  });
}

/** The JSON text of an object in pieces: one per entry of its first levels. */
function* jsonPieces(value: object, levels: number): Generator<string> {
  let before = '{';
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (levels > 0 && typeof inner === 'object' && inner !== null && !Array.isArray(inner))
      yield* jsonPieces(inner, levels - 1);
    else yield jsonText(inner);
  }
  yield before === '{' ? '{}' : '}';
}
