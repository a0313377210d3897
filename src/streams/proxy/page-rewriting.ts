/** HTML pages on their way through a proxy. Those that can be rewritten are buffered until they are complete. */
import type { IncomingMessage } from 'node:http';
import {
  constants,
  deflate,
  deflateRaw,
  gunzip,
  gzip,
  inflate,
  inflateRaw,
  type ZlibOptions,
} from 'node:zlib';
import { Pieces } from '../../pieces.ts';
import { rewriteHtml } from './html-rewriting.ts';
import type { LinkRule } from './link-rewriting.ts';

/** Larger pages pass unchanged, as do those larger after decompression. */
export const pageBytesMax = 8 * 1024 * 1024;
/** Maximum bytes of all buffered pages together. Further pages pass unchanged. */
const heldBytesMax = 64 * 1024 * 1024;

/** Per process, so shared by all its proxies. */
let heldBytes = 0;

export type PageEncoding = 'identity' | 'gzip' | 'deflate';

/** The encoding of an HTML answer; undefined when it is not HTML or cannot be rewritten. */
export function pageEncoding({ headers, statusCode }: IncomingMessage): PageEncoding | undefined {
  const type = (headers['content-type'] ?? '').replace(/;[\s\S]*/, '');
  if (type.trim().toLowerCase() !== 'text/html') return undefined;
  // Not for redirects, whose body is not shown, and not for partial content, whose byte offsets would be wrong.
  if (headers.location !== undefined || statusCode === 206) return undefined;
  if (Number(headers['content-length'] ?? 0) > pageBytesMax) return undefined;
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase() || 'identity';
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' ? encoding : undefined;
}

export interface HeldPage {
  readonly chunks: readonly Buffer[];
  /** False: too large. The rest is still in the answer, which is paused. */
  readonly whole: boolean;
  /** To be called when the page's memory is free again. */
  release(): void;
}

/** Buffers a page up to the bound; rejects when the answer breaks off. */
export function holdPage(answer: IncomingMessage): Promise<HeldPage> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    let size = 0;
    const release = (): void => {
      heldBytes -= size;
      size = 0;
    };
    const stop = (): void => {
      answer.off('data', take).off('end', ended).off('error', broken).off('close', broken);
    };
    const take = (chunk: Buffer): void => {
      size = pieces.add(chunk);
      heldBytes += chunk.length;
      if (size <= pageBytesMax && heldBytes <= heldBytesMax) return;
      answer.pause();
      stop();
      resolve({ chunks: pieces.list, whole: false, release });
    };
    const ended = (): void => {
      stop();
      resolve({ chunks: pieces.list, whole: true, release });
    };
    const broken = (error?: Error): void => {
      stop();
      release();
      reject(error ?? new Error('the page broke off'));
    };
    answer.on('data', take).on('end', ended).on('error', broken).on('close', broken);
  });
}

/**
 * The page with its links rewritten, in the same encoding; undefined when it cannot be decoded, or becomes
 * too large.
 */
export async function rewritePage(
  body: Buffer,
  encoding: PageEncoding,
  rule: LinkRule,
): Promise<Buffer | undefined> {
  if (encoding === 'identity') return rewriteHtml(body, rule);
  const [unpack, pack] = codecs(body, encoding);
  let document: Buffer;
  try {
    document = await run(unpack, body, { maxOutputLength: pageBytesMax });
  } catch {
    return undefined;
  }
  const rewritten = await rewriteHtml(document, rule);
  return rewritten && run(pack, rewritten, { level: constants.Z_BEST_SPEED });
}

type Codec = (
  bytes: Buffer,
  options: ZlibOptions,
  done: (error: Error | null, result: Buffer) => void,
) => void;

function codecs(body: Buffer, encoding: 'gzip' | 'deflate'): [unpack: Codec, pack: Codec] {
  if (encoding === 'gzip') return [gunzip, gzip];
  // The standard says deflate has a zlib header; Kubernetes and many servers leave it out. The header has a
  // checksum to recognise it by.
  const headed = body.length > 1 && (body[0]! & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
  return headed ? [inflate, deflate] : [inflateRaw, deflateRaw];
}

const run = (codec: Codec, bytes: Buffer, options: ZlibOptions): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    codec(bytes, options, (error, result) => (error ? reject(error) : resolve(result))),
  );
