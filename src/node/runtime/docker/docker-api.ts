/** The HTTP API of Docker and Podman over their unix socket. */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { Pieces } from '../../../pieces.ts';

/** The newest version of the API that this code knows. */
const versionOwn = '1.44';
const answerBytesMax = 16 * 1024 * 1024;
/** Limit for calls that do not wait for a container. */
const callMs = 120_000;
const socketsMax = 32;

/** An answer that is not a success, with the engine's own words; `status` is 0 when there was no answer. */
export class DockerError extends Error {
  override readonly name = 'DockerError';

  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface DockerCall {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** The body: sent as JSON, or unchanged if it is a buffer. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Default 2 minutes; 0 for none. */
  readonly timeoutMs?: number;
}

export interface Hijacked {
  readonly socket: Socket;
  /** Bytes received together with the answer. */
  readonly head: Buffer;
}

export class DockerApi {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: socketsMax, keepAliveMsecs: 5_000 });
  #version = '';

  constructor(readonly socketPath: string) {}

  /** Asks for the version, which every later call names. Throws `DockerError` when there is no engine. */
  async negotiate(timeoutMs?: number): Promise<void> {
    const answer = await this.stream('GET', '/_ping', timeoutMs === undefined ? {} : { timeoutMs });
    await textOf(answer);
    const theirs = String(answer.headers['api-version'] ?? '');
    this.#version = /^\d+\.\d+$/.test(theirs) && isOlder(theirs, versionOwn) ? theirs : versionOwn;
  }

  /** The JSON of an answer; undefined for one without content. */
  async json<T>(method: string, path: string, call: DockerCall = {}): Promise<T> {
    const answer = await this.stream(method, path, call);
    const text = await textOf(answer);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** The answer itself, for content that comes piece by piece. Throws `DockerError` for one that is no success. */
  async stream(method: string, path: string, call: DockerCall = {}): Promise<IncomingMessage> {
    const lasting = call.timeoutMs === 0;
    const sent = this.#send(method, path, call, !lasting);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', (error) => reject(unreachable(error)));
    });
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw new DockerError(status, messageOf(await textOf(answer).catch(() => ''), status));
  }

  /** Turns the connection of a call into a raw stream, in both directions. */
  async hijack(path: string, call: DockerCall = {}): Promise<Hijacked> {
    const headers = { Connection: 'Upgrade', Upgrade: 'tcp', ...call.headers };
    const sent = this.#send('POST', path, { ...call, headers, timeoutMs: 0 }, false);
    return new Promise((resolve, reject) => {
      sent.once('upgrade', (_answer, socket: Socket, head) => {
        socket.on('error', () => socket.destroy());
        resolve({ socket, head });
      });
      sent.once('response', (answer) => {
        const status = answer.statusCode ?? 0;
        void textOf(answer)
          .catch(() => '')
          .then((text) => reject(new DockerError(status, messageOf(text, status))));
      });
      sent.once('error', (error) => reject(unreachable(error)));
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, path: string, call: DockerCall, pooled: boolean) {
    const { query = {}, body, headers = {}, signal, timeoutMs = callMs } = call;
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = given.length ? `?${new URLSearchParams(given)}` : '';
    const raw = Buffer.isBuffer(body);
    const content = body === undefined ? undefined : raw ? body : Buffer.from(JSON.stringify(body));
    const prefix = this.#version ? `/v${this.#version}` : '';
    const sent = request({
      socketPath: this.socketPath,
      method,
      path: `${prefix}${path}${search}`,
      agent: pooled ? this.#agent : false,
      headers: {
        Host: 'docker',
        ...(content ? { 'Content-Type': raw ? 'application/x-tar' : 'application/json' } : {}),
        'Content-Length': String(content?.length ?? 0),
        ...headers,
      },
      ...(signal ? { signal } : {}),
      ...(timeoutMs ? { timeout: timeoutMs } : {}),
    });
    sent.once('timeout', () => sent.destroy(new Error('it has not answered in time')));
    // Errors after the answer has begun show as the end of its stream.
    sent.on('error', () => undefined);
    sent.end(content);
    return sent;
  }
}

const isOlder = (a: string, b: string): boolean => {
  const [[x = 0, y = 0], [v = 0, w = 0]] = [a.split('.').map(Number), b.split('.').map(Number)];
  return x < v || (x === v && y < w);
};

const unreachable = (error: Error): DockerError =>
  new DockerError(0, `the container engine cannot be reached: ${error.message}`, { cause: error });

function messageOf(text: string, status: number): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string' && message) return message.trim();
  } catch {
    // Not JSON.
  }
  return text.trim().slice(0, 500) || `the container engine answered ${status}`;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces = new Pieces();
  for await (const piece of answer as AsyncIterable<Buffer>) {
    if (pieces.add(piece) <= answerBytesMax) continue;
    answer.destroy();
    throw new DockerError(0, `the answer has more than ${answerBytesMax} bytes`);
  }
  return pieces.whole().toString('utf8');
}

/** Whether a call found nothing to do: what it names is gone, or is already as wanted. */
export const isDone = (error: unknown): boolean =>
  error instanceof DockerError && (error.status === 404 || error.status === 304);

export const isUnreachable = (error: unknown): boolean => error instanceof DockerError && error.status === 0;
