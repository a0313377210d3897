/**
 * Asks a kubelet to upgrade a fresh connection to SPDY. The connection carries this one request: with any
 * answer but 101 it is closed. Redirects are not followed.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { readError } from '../dial/net-error.ts';

/** Maximum size of the answer's head. */
const headBytesMax = 64 * 1024;
const headMs = 60_000;
/** Maximum bytes read of an answer that is not an upgrade. */
const bodyBytesMax = 50_000;
const bodyMs = 10_000;

/** Headers that this file writes itself. */
const ownHeaders = new Set([
  'connection',
  'upgrade',
  'content-length',
  'transfer-encoding',
  'x-stream-protocol-version',
]);

export interface SpdyUpgradeRequest {
  readonly method: string;
  readonly path: string;
  /** The upgrade headers are added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Most preferred first. */
  readonly protocols: readonly string[];
}

export interface SpdyUpgraded {
  readonly socket: Duplex;
  /** Bytes received after the answer's head. */
  readonly head: Buffer;
  /** As named in the answer; empty when it names none. */
  readonly protocol: string;
}

/** An answer that is not an upgrade. Its body is cut at 50,000 bytes. */
export interface SpdyRefused {
  readonly refused: {
    readonly statusCode: number;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly body: Buffer;
  };
}

/** Rejects when the connection fails or the answer is malformed; `signal` aborts it. */
export async function upgradeToSpdy(
  connect: () => Promise<Duplex>,
  request: SpdyUpgradeRequest,
  signal?: AbortSignal,
): Promise<SpdyUpgraded | SpdyRefused> {
  signal?.throwIfAborted();
  const socket = await connect();
  // It may fail at any time, also before the new owner adds a listener.
  socket.on('error', () => {});
  try {
    const answer = await ask(socket, request, signal);
    if (answer.head !== undefined) return upgraded(socket, answer.response, answer.head);
    // Node does not report a 101 without an Upgrade header as an upgrade.
    if (answer.response.statusCode === 101) throw new Error('invalid upgrade response: status code 101');
    const refused = await refusal(answer.response);
    socket.destroy();
    return refused;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

type Answer = { readonly response: IncomingMessage; readonly head?: Buffer };

function ask(socket: Duplex, request: SpdyUpgradeRequest, signal: AbortSignal | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      createConnection: () => socket,
      method: request.method,
      path: request.path,
      headers: requestHeaders(request),
      setHost: false,
      maxHeaderSize: headBytesMax,
    });
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
      act();
    };
    const fail = (message: string): void =>
      settle(() => {
        reject(new Error(message));
        sent.destroy();
      });
    const aborted = (): void => fail('context canceled');
    const timer = setTimeout(() => fail('net/http: timeout awaiting response headers'), headMs);
    signal?.addEventListener('abort', aborted);
    sent
      .on('upgrade', (response, _socket, head) => settle(() => resolve({ response, head })))
      .on('response', (response) => settle(() => resolve({ response })))
      .on('information', ({ statusCode }) => fail(`invalid upgrade response: status code ${statusCode}`))
      .on('error', (error) => fail(readError(error)))
      .end();
  });
}

/** As pairs, so that a header may be repeated: kubelets before 1.19 do not split lists at commas. */
function requestHeaders({ headers, protocols }: SpdyUpgradeRequest): string[] {
  const kept = headers.filter(([name]) => !ownHeaders.has(name.toLowerCase()));
  const host = kept.some(([name]) => name.toLowerCase() === 'host') ? [] : [['Host', 'kubelet'] as const];
  return [
    ...host,
    ...kept,
    ['Connection', 'Upgrade'] as const,
    ['Upgrade', 'SPDY/3.1'] as const,
    ['Content-Length', '0'] as const,
    ...protocols.map((protocol) => ['X-Stream-Protocol-Version', protocol] as const),
  ].flat();
}

function upgraded(socket: Duplex, response: IncomingMessage, head: Buffer): SpdyUpgraded {
  const { connection = '', upgrade = '' } = response.headers;
  if (!connection.toLowerCase().includes('upgrade') || !upgrade.toLowerCase().includes('spdy/3.1')) {
    throw new Error(
      `unable to upgrade connection: the answer is not SPDY/3.1 but ${JSON.stringify(upgrade)}`,
    );
  }
  const protocol = response.headers['x-stream-protocol-version'];
  return { socket, head, protocol: typeof protocol === 'string' ? protocol.trim() : '' };
}

async function refusal(response: IncomingMessage): Promise<SpdyRefused> {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2)
    headers.push([response.rawHeaders[i]!, response.rawHeaders[i + 1]!]);
  const refused = { statusCode: response.statusCode!, headers, body: await boundedBody(response) };
  return { refused };
}

/** The body within the limits of time and size; an incomplete one is no error. */
function boundedBody(response: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const done = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).subarray(0, bodyBytesMax));
    };
    const timer = setTimeout(done, bodyMs);
    response
      .on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= bodyBytesMax) done();
      })
      .on('error', done)
      .on('close', done)
      .on('end', done);
  });
}
