/**
 * The health check of gRPC: one call of `grpc.health.v1.Health/Check` over HTTP/2. The messages have one field each, so
 * they are written and read here. Outcomes are in the words of a kubelet.
 */
import { type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';

/** A health answer has a few bytes. */
const answerBytesMax = 4 * 1024;
const messageCharsMax = 1_000;
/** Status codes of gRPC. */
const codes = { ok: 0, deadlineExceeded: 4, unimplemented: 12 } as const;
const statuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const { HTTP2_HEADER_PATH, HTTP2_HEADER_METHOD } = constants;

export interface HealthAnswer {
  readonly healthy: boolean;
  readonly output: string;
}

interface Reply {
  readonly code: number;
  readonly message: string;
  readonly body: Buffer;
}

/** Never throws. The socket is destroyed. */
export async function checkHealth(
  socket: Duplex,
  { authority, service, timeoutMs }: { authority: string; service: string; timeoutMs: number },
  gone: AbortSignal,
): Promise<HealthAnswer> {
  const unhealthy = (output: string): HealthAnswer => ({ healthy: false, output });
  let reply: Reply;
  try {
    reply = replyOf(await call(socket, authority, service, gone));
  } catch (error) {
    if (gone.aborted) return unhealthy(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`);
    return unhealthy(`error: health rpc probe failed: ${(error as Error).message}`);
  }
  const { code, message, body } = reply;
  if (code === codes.unimplemented)
    return unhealthy(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`,
    );
  if (code === codes.deadlineExceeded)
    return unhealthy(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`);
  if (code !== codes.ok)
    return unhealthy(`error: health rpc probe failed: rpc error: code = ${code} desc = ${message}`);
  const status = statusIn(body);
  return status === 'SERVING'
    ? { healthy: true, output: 'service healthy' }
    : unhealthy(`service unhealthy (responded with ${JSON.stringify(status)})`);
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function call(socket: Duplex, authority: string, service: string, signal: AbortSignal): Promise<Received> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://${authority}`, { createConnection: () => socket });
    session.on('error', reject);
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        {
          [HTTP2_HEADER_METHOD]: 'POST',
          [HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
          'content-type': 'application/grpc',
          'user-agent': 'kube-probe/1.36',
          te: 'trailers',
        },
        { signal },
      );
    } catch (error) {
      reject(error as Error);
      return;
    }
    let headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream
      .on('response', (received) => {
        headers = { ...headers, ...received };
      })
      .on('trailers', (received) => {
        headers = { ...headers, ...received };
      })
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) stream.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      })
      .on('error', reject)
      .on('end', () => resolve({ headers, body: Buffer.concat(chunks) }))
      .on('close', () => {
        session.destroy();
        reject(new Error('the connection was closed'));
      });
    stream.end(requestFrame(service));
  });
}

function replyOf({ headers, body }: Received): Reply {
  const text = String(headers['grpc-message'] ?? '');
  const message = decoded(text).slice(0, messageCharsMax);
  const code = Number(headers['grpc-status']);
  if (headers['grpc-status'] !== undefined && Number.isInteger(code)) return { code, message, body };
  throw new Error(`unexpected HTTP status code ${headers[':status'] ?? 0} without a status of gRPC`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A frame: not compressed, its length, and the message `{service = 1}`. */
function requestFrame(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const message = name.length
    ? Buffer.concat([Buffer.from([0x0a]), Buffer.from(varint(name.length)), name])
    : Buffer.alloc(0);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

/** The name of `{status = 1}` in the first frame; an answer without one is UNKNOWN. */
function statusIn(body: Buffer): string {
  if (body.length < 5 || body[0] !== 0) return 'UNKNOWN';
  const message = body.subarray(5, 5 + body.readUInt32BE(1));
  return message[0] === 0x08 && message[1] !== undefined
    ? (statuses[message[1]] ?? String(message[1]))
    : 'UNKNOWN';
}
