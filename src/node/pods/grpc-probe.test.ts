/** Proves how probes by gRPC ask, and how they judge the answers. */
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, type ProbeTarget } from './probe.ts';

let server: Http2Server;
let port = 0;
const asked: string[] = [];
const streams = new Set<ServerHttp2Stream>();

/** Answers by the name of the service that is asked for. */
function answer(stream: ServerHttp2Stream, service: string): void {
  const status = { '': 1, sick: 2, unknown: 3 }[service];
  if (service === 'slow') return;
  if (service === 'closed') return stream.close();
  if (service === 'plain') {
    stream.respond({ ':status': 404 });
    stream.end('not found');
    return;
  }
  if (status === undefined) {
    const code = service === 'none' ? '12' : '13';
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': code,
        'grpc-message': 'a%20reason',
      },
      { endStream: true },
    );
    return;
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]));
}

beforeAll(async () => {
  server = createServer();
  server.on('stream', (stream, headers) => {
    streams.add(stream);
    stream.on('error', () => undefined);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const body = Buffer.concat(chunks);
      asked.push(`${headers[':path']} ${headers['user-agent']} ${headers['content-type']}`);
      answer(stream, body.length > 5 ? body.subarray(7).toString() : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  for (const stream of streams) stream.session?.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const reach = (to: number): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1');
    socket.once('error', reject).once('connect', () => resolve(socket));
  });
const target = { container: { name: 'c' }, podIP: '10.1.2.3', reach } as unknown as ProbeTarget;
const probe = (service?: string, timeoutMs = 30_000) =>
  ask({ grpc: { port, ...(service === undefined ? {} : { service }) } }, target, timeoutMs);

it('asks for the health of the server, or of one service', async () => {
  expect(await probe()).toEqual({ outcome: 'success', output: 'service healthy' });
  expect(asked).toEqual(['/grpc.health.v1.Health/Check kube-probe/1.36 application/grpc']);
  expect(await probe('sick')).toEqual({
    outcome: 'failure',
    output: 'service unhealthy (responded with "NOT_SERVING")',
  });
  expect((await probe('unknown')).output).toBe('service unhealthy (responded with "SERVICE_UNKNOWN")');
});

it('tells why there was no answer', async () => {
  expect((await probe('none')).output).toBe(
    'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): a reason',
  );
  expect((await probe('broken')).output).toBe(
    'error: health rpc probe failed: rpc error: code = 13 desc = a reason',
  );
  expect((await probe('slow', 200)).output).toBe('timeout: health rpc did not complete within 0.2s');
  expect((await probe('plain')).output).toBe(
    'error: health rpc probe failed: unexpected HTTP status code 404 without a status of gRPC',
  );
  expect((await probe('closed')).output).toMatch(/^error: health rpc probe failed: /);
});

it('tells when there is no connection', async () => {
  const refused = await ask({ grpc: { port: 1 } }, target, 30_000);
  expect(refused).toEqual({
    outcome: 'failure',
    output:
      'error: failed to connect service at "10.1.2.3:1": dial tcp 10.1.2.3:1: connect: connection refused',
  });
});
