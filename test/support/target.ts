/**
 * A server under attack. It must answer any input with a Status that says what is wrong, store nothing,
 * report no failure of its own, and answer the next request.
 */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import { Client, type Json, type Reply } from './http.ts';

/** Time limit for a raw connection. */
const exchangeMaxMs = 60_000;

export interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Json;
}

/** An open connection; the caller closes it. */
export function connectTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port), allowHalfOpen: true });
}

export class Target extends Client {
  cluster: Cluster | undefined;
  /** Failures the server reported as its own. */
  readonly failures: Error[] = [];

  constructor() {
    super(() => this.cluster!.url);
  }

  /** The store's newest version. */
  async version(): Promise<string> {
    return (await this.get('/api/v1/namespaces?limit=1')).body.metadata.resourceVersion;
  }

  /** Runs an attack and checks that it was refused with one of the codes, and changed nothing. */
  async refuses(attack: () => Promise<Reply>, codes: number | readonly number[], says = /./): Promise<Reply> {
    const before = await this.version();
    const reply = await attack();
    expectStatus(reply.status, reply.body, codes, says);
    await this.unharmed(before);
    return reply;
  }

  /** The same for raw bytes: all answers must be this refusal. */
  async refusesBytes(
    bytes: string | Buffer,
    codes: number | readonly number[],
    says = /./,
    half = false,
  ): Promise<void> {
    const before = await this.version();
    const replies = await this.exchange(bytes, half);
    expect(replies).toHaveLength(1);
    expectStatus(replies[0]!.status, replies[0]!.body, codes, says);
    await this.unharmed(before);
  }

  async unharmed(version: string): Promise<void> {
    expect((await this.get('/healthz')).text).toBe('ok');
    expect(await this.version()).toBe(version);
    expect(this.failures).toEqual([]);
  }

  /** Sends bytes, half-closes if asked to, and reads answers until the server closes. */
  async exchange(bytes: string | Buffer, half = false): Promise<RawReply[]> {
    const socket = this.dial();
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    if (half) socket.end();
    return parseReplies(await readToEnd(socket));
  }

  /** An open connection; the caller closes it. */
  dial(): Socket {
    return connectTo(this.url);
  }
}

function expectStatus(code: number, body: Json, codes: number | readonly number[], says: RegExp): void {
  expect([codes].flat(), JSON.stringify(body)?.slice(0, 500)).toContain(code);
  expect(body).toMatchObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
  expect(body.reason).not.toBe('InternalError');
  expect(body.message).toMatch(says);
}

export function readToEnd(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server did not close; it said: ${Buffer.concat(chunks).toString('latin1')}`));
    }, exchangeMaxMs);
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(chunks));
    };
    // A server that refuses a request during its body may reset the connection after its answer.
    socket
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', done)
      .on('close', done)
      .on('error', done);
  });
}

/** Parses consecutive answers with a Content-Length. Interim ones (100) are left out. */
export function parseReplies(bytes: Buffer): RawReply[] {
  const replies: RawReply[] = [];
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) throw new Error(`no answer: ${bytes.toString('latin1', at, at + 200)}`);
    const [statusLine, ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine!)?.[1]);
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    const text = bytes.toString('utf8', headEnd + 4, bodyEnd);
    if (status >= 200)
      replies.push({ status, headers, body: text.startsWith('{') ? JSON.parse(text) : text });
    at = bodyEnd;
  }
  return replies;
}

// Requests as bytes

export const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;

export const webSocketHead = (path: string, ...headers: string[]): string =>
  head(
    `GET ${path}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  );

/** A short form for the title of a test. */
export const short = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 30)}… ${text.length} characters` : text);

/** A server for the attacks of one file. Controllers are off, so that only requests change the store's version. */
export function useTarget(options: StartOptions = {}): Target {
  const target = new Target();
  beforeAll(async () => {
    target.cluster = await start({
      store: 'memory',
      controllers: false,
      onError: (error) => target.failures.push(error),
      ...options,
    });
  });
  afterAll(() => target.cluster?.close());
  return target;
}
