/**
 * Reads another cluster, gently: GET requests alone, at most some a second, with the waits that the server asks for. It has no
 * method that writes.
 */

import type { IncomingMessage } from 'node:http';
import { request as plainRequest } from 'node:http';
import { StatusError } from '../../api/errors/errors.ts';
import { refusal } from '../../client/refusal.ts';
import { KubeconfigError, type SourceAccess } from './kubeconfig.ts';

const answerBytesMax = 512 * 1024 * 1024;
const silenceMaxMs = 60_000;
/** How long a connection may be silent before the system asks whether the other side is still there. */
const keepAliveMs = 30_000;
const attemptsMax = 6;
const firstWaitMs = 250;
const waitMaxMs = 30_000;

/** Answers after which the same question may be answered. */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

export class SourceClient {
  #nextMs = 0;
  /** Requests that were sent. */
  requests = 0;

  /** @param perSecond requests a second */
  constructor(
    private readonly access: SourceAccess,
    private readonly perSecond: number,
    private readonly signal?: AbortSignal,
    private readonly program = 'wherry-import',
  ) {}

  get url(): string {
    return this.access.url;
  }

  /**
   * The answer to a question that lasts, such as a watch, tried once; an expired token is renewed. Throws a StatusError for
   * a refusal, with the wait that the server asks for (`askedWaitMs`).
   */
  async stream(path: string, accept: string, signal: AbortSignal): Promise<IncomingMessage> {
    const asked = { accept, signal, lasts: true };
    try {
      return await this.#send(path, false, asked);
    } catch (error) {
      if ((error as Partial<StatusError>).code !== 401) throw error;
      return this.#send(path, true, asked);
    }
  }

  /** The parsed answer. Throws a StatusError for a refusal, after having tried again where that may help. */
  async get(path: string, accept?: string): Promise<unknown> {
    let refused = false;
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#send(path, refused, accept ? { accept } : {});
        return JSON.parse((await bodyOf(answer)).toString('utf8'));
      } catch (error) {
        this.signal?.throwIfAborted();
        const { code, retryMs } = error as Partial<Refused>;
        // An expired token is renewed once.
        const isExpired: boolean = code === 401 && !refused;
        const isPassing =
          error instanceof StatusError ? passing.has(error.code) : !(error instanceof KubeconfigError);
        if (!isExpired && (!isPassing || attempt + 1 >= attemptsMax)) throw error;
        refused = isExpired;
        if (!isExpired) await pause(retryMs ?? Math.min(waitMaxMs, firstWaitMs * 2 ** attempt), this.signal);
      }
    }
  }

  async #send(path: string, refused: boolean, asked: Asked = {}): Promise<IncomingMessage> {
    await this.#turn();
    this.requests++;
    const { url, ca, insecure, serverName } = this.access;
    const signal = asked.signal ?? this.signal;
    const { authorization, cert, key } = await this.access.credential(refused);
    const { protocol, hostname, port, pathname } = new URL(url);
    const send = protocol === 'https:' ? process.getBuiltinModule('node:https').request : plainRequest;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = send({
        protocol,
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port,
        path: pathname.replace(/\/$/, '') + path,
        headers: {
          Accept: asked.accept ?? 'application/json',
          'User-Agent': this.program,
          ...(authorization ? { Authorization: authorization } : {}),
        },
        ...(signal ? { signal } : {}),
        ...(asked.lasts ? { agent: false } : {}),
        ...(protocol === 'https:'
          ? {
              ca,
              cert,
              key,
              rejectUnauthorized: !insecure,
              ...(serverName ? { servername: serverName } : {}),
            }
          : {}),
      });
      sent.setTimeout(silenceMaxMs, () => sent.destroy(new Error('the server does not answer')));
      if (asked.lasts) sent.setSocketKeepAlive(true, keepAliveMs);
      sent.on('response', resolve).on('error', reject).end();
    });
    // A watch may have nothing to tell for long; a connection that is dead is found by the system's probes.
    if (asked.lasts && answer.statusCode! < 300) answer.socket.setTimeout(0);
    if (answer.statusCode! < 300) return answer;
    const seconds = Number(answer.headers['retry-after']);
    const error: Refused = refusal(answer.statusCode!, (await bodyOf(answer)).toString('utf8'));
    if (seconds > 0) error.retryMs = Math.min(waitMaxMs, seconds * 1_000);
    throw error;
  }

  /** Waits until the next request may be sent. */
  async #turn(): Promise<void> {
    const nowMs = performance.now();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + 1_000 / this.perSecond;
    if (atMs > nowMs) await pause(atMs - nowMs, this.signal);
  }
}

type Refused = StatusError & { retryMs?: number };

interface Asked {
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** The answer has no end that is near. */
  readonly lasts?: boolean;
}

/** How long the server asks to wait; undefined: it does not. */
export const askedWaitMs = (error: unknown): number | undefined => (error as Partial<Refused>).retryMs;

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > answerBytesMax) throw new Error(`an answer of more than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
