/**
 * Documents about the API itself: built at the first request and cached. Clients cache them by their ETag and
 * revalidate.
 */
import { createHash } from 'node:crypto';
import { constants, gzip } from 'node:zlib';
import { jsonText } from '../../api/text/json-text.ts';
import { acceptsGzip, apiHeaders, endWith, gzipBytesMin } from './answer.ts';
import type { Headers, RequestContext } from './context.ts';

/** Longer documents are compressed quickly: that of a platform with hundreds of kinds changes often. */
export const longBytes = 8 * 1024 * 1024;

/** Characters of a document that are joined and hashed at once, and the steps of a turn that this takes. */
const pieceChars = 256 * 1024;
const pieceSteps = 20_000;

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

  get #pieces(): readonly Buffer[] {
    return Buffer.isBuffer(this.content) ? [this.content] : this.content;
  }

  static json(value: unknown, contentType = 'application/json'): ApiDocument {
    return new ApiDocument(contentType, Buffer.from(`${jsonText(value)}\n`));
  }

  /** The same for a large object, in slices: each `yield` reports about how many steps it took. */
  static jsonInSlices(value: object): Generator<number, ApiDocument> {
    return ApiDocument.textInSlices('application/json', withLineEnd(jsonPieces(value, 2)));
  }

  /** A document of many short texts, in slices. Those of a platform take milliseconds to join, and to hash. */
  static *textInSlices(contentType: string, texts: Iterable<string>): Generator<number, ApiDocument> {
    const pieces: Buffer[] = [];
    const hash = createHash('sha256');
    let text = '';
    const take = (): void => {
      const piece = Buffer.from(text);
      hash.update(piece);
      pieces.push(piece);
      text = '';
    };
    for (const one of texts) {
      text += one;
      if (text.length < pieceChars) {
        yield one.length;
        continue;
      }
      take();
      yield one.length + pieceSteps;
    }
    take();
    return new ApiDocument(contentType, pieces, hash.digest('hex').toUpperCase());
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
    const body = isZipped ? [await this.gzipped()] : this.#pieces;
    const length = isZipped ? body[0]!.length : this.#length;
    response.writeHead(200, { ...headers, 'Content-Length': String(length) });
    if (context.info.method === 'HEAD') response.end();
    else await endWith(context, body);
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

function* withLineEnd(texts: Iterable<string>): Generator<string> {
  yield* texts;
  yield '\n';
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
