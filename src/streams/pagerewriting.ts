/** Pages: bodies of HTML on their way through a proxy. Those that can be rewritten are held back until they are whole. */
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
import { rewriteHtml } from './htmlrewriting.ts';
import type { LinkRule } from './linkrewriting.ts';

/** Larger pages pass as they are; so do those that are larger without their compression. */
export const pageBytesMax = 8 * 1024 * 1024;
/** All pages held back at one time, in bytes. Those that do not fit pass as they are. */
const heldBytesMax = 64 * 1024 * 1024;

/** The memory is the process's, so all proxies in it share the bound. */
let heldBytes = 0;

export type PageEncoding = 'identity' | 'gzip' | 'deflate';

/** How the page in an answer is encoded; undefined when the answer is no page, or none that can be rewritten. */
export function pageEncoding({ headers, statusCode }: IncomingMessage): PageEncoding | undefined {
  const type = (headers['content-type'] ?? '').replace(/;[\s\S]*/, '');
  if (type.trim().toLowerCase() !== 'text/html') return undefined;
  // Where links end up depends on Location alone. Of a part of a page the byte offsets would be wrong.
  if (headers.location !== undefined || statusCode === 206) return undefined;
  if (Number(headers['content-length'] ?? 0) > pageBytesMax) return undefined;
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase() || 'identity';
  return encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate' ? encoding : undefined;
}

export interface HeldPage {
  readonly chunks: readonly Buffer[];
  /** False: there was too much of it. The rest is still in the answer, which is paused. */
  readonly whole: boolean;
  /** To be called when the page is no longer held. */
  release(): void;
}

/** Reads a page as far as it may be held; rejects when it breaks off. */
export function holdPage(answer: IncomingMessage): Promise<HeldPage> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const release = (): void => {
      heldBytes -= size;
      size = 0;
    };
    const stop = (): void => {
      answer.off('data', take).off('end', ended).off('error', broken).off('close', broken);
    };
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      heldBytes += chunk.length;
      if (size <= pageBytesMax && heldBytes <= heldBytesMax) return;
      answer.pause();
      stop();
      resolve({ chunks, whole: false, release });
    };
    const ended = (): void => {
      stop();
      resolve({ chunks, whole: true, release });
    };
    const broken = (error?: Error): void => {
      stop();
      release();
      reject(error ?? new Error('the page broke off'));
    };
    answer.on('data', take).on('end', ended).on('error', broken).on('close', broken);
  });
}

/** The page with its links rewritten, encoded as it was; undefined when it cannot be read, or is too large then. */
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
  // By the book, deflate has a head; Kubernetes and many servers leave it out. The head has a check sum to know it by.
  const headed = body.length > 1 && (body[0]! & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
  return headed ? [inflate, deflate] : [inflateRaw, deflateRaw];
}

const run = (codec: Codec, bytes: Buffer, options: ZlibOptions): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    codec(bytes, options, (error, result) => (error ? reject(error) : resolve(result))),
  );
