/**
 * Proves that generated requests get the same from our side of HTTP/2 as from `node:http2`, both asked by Node's client:
 * what handlers see of them, status, headers and bodies of the answers, and how requests end that are taken back.
 */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import type { ApiRequest, ApiResponse } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Http2Response } from '../http/http2-response.ts';
import { Arrivals } from '../lane/arrivals.ts';
import type { Http2Request } from '../wire/http2-request.ts';
import { NodeRequest } from '../wire/node-request.ts';
import { Http2Lane } from './http2-lane.ts';
import { windowBytes } from './session-settings.ts';

/** Around the sizes of pieces that are copied, of frames, and of windows. */
const sizes = [
  0, 1, 1_023, 1_024, 16_383, 16_384, 16_385, 32_769, 65_535, 65_536, 262_143, 262_144, 262_145, 600_000,
];

/** Each character that a value may have, for the codes of all. */
const visible = Array.from({ length: 0x7f - 0x21 }, (_, i) => String.fromCharCode(0x21 + i)).join('');

interface Asked {
  readonly method: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly bodySize: number;
  readonly bodyPieces: number;
  readonly saysLength: boolean;
  readonly hasTrailers: boolean;
  readonly answerSize: number;
  readonly answerPieces: number;
  readonly status: number;
  /** How much of the answer the client takes before it resets its request; undefined: all. */
  readonly takes: number | undefined;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  fields: fc.array(
    fc.tuple(
      fc.constantFrom(
        'accept',
        'cookie',
        'x-a',
        'x-b',
        'user-agent',
        'impersonate-group',
        '__proto__',
        'constructor',
        'te',
      ),
      fc.constantFrom('trailers', 'a', 'a, b', 'x'.repeat(200), 'é', visible),
    ),
    { maxLength: 6 },
  ),
  bodySize: fc.constantFrom(...sizes),
  bodyPieces: fc.integer({ min: 1, max: 5 }),
  saysLength: fc.boolean(),
  hasTrailers: fc.boolean(),
  answerSize: fc.constantFrom(...sizes),
  answerPieces: fc.integer({ min: 1, max: 5 }),
  status: fc.constantFrom(200, 201, 204, 304, 404, 500),
  takes: fc.option(fc.constantFrom(0, 1, 20_000), { nil: undefined, freq: 8 }),
});

/** What a handler has seen of a request, and of its end. */
interface Seen {
  headers?: unknown;
  raw?: unknown;
  body?: number;
  ended?: unknown;
}

const pieces = (size: number, count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) =>
    Buffer.alloc(Math.floor(((i + 1) * size) / count) - Math.floor((i * size) / count), 97 + i),
  );

class Side {
  readonly seen = new Map<string, Seen>();
  session!: ClientHttp2Session;
  readonly #server: Server;

  constructor(take: (side: Side, socket: Socket) => void) {
    this.#server = createServer({ noDelay: true }, (socket) => take(this, socket));
  }

  async open(initialWindowSize: number): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    this.session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } });
    await once(this.session, 'remoteSettings');
  }

  close(): void {
    this.session.destroy();
    this.#server.close();
  }

  readonly handle = (request: Http2Request, response: ApiResponse): void => {
    const url = new URL(request.url, 'http://x');
    const seen: Seen = {};
    this.seen.set(url.searchParams.get('id')!, seen);
    seen.headers = Object.fromEntries(
      Object.entries({ ...request.headers })
        .filter(([name]) => !name.startsWith(':') && name !== 'host')
        .sort(),
    );
    seen.raw = request.rawHeaders.filter((_, i, all) => !['host'].includes(all[i - (i % 2)]!));
    let body = 0;
    const answer = (): void => {
      seen.body = body;
      const parts = pieces(Number(url.searchParams.get('size')), Number(url.searchParams.get('pieces')));
      response.writeHead(Number(url.searchParams.get('status')), [
        'Content-Type',
        'text/plain',
        'X-One',
        'é',
      ]);
      for (const part of parts.slice(0, -1)) response.write(part);
      response.end(parts.at(-1));
    };
    response.on('close', () => {
      seen.ended = 'closed';
    });
    if (request.body) {
      body = request.body.length;
      answer();
    } else
      request
        .on('data', (chunk: Buffer) => {
          body += chunk.length;
        })
        .on('end', answer);
  };
}

/** Ours, and Node's. */
function sides(): [Side, Side] {
  const ours = new Side((side, socket) => {
    const reception = {
      request: (_door: Door, request: ApiRequest, response: ApiResponse) =>
        side.handle(request as Http2Request, response),
    } as unknown as Reception;
    new Http2Lane({} as Door, reception, new Arrivals(), {}, 60_000).take(socket as TLSSocket);
  });
  const nodes = new Side((side, socket) => {
    const session = performServerHandshake(socket, { settings: { initialWindowSize: windowBytes } });
    session.on('error', () => undefined);
    const receive = (
      stream: ServerHttp2Stream,
      headers: IncomingHttpHeaders,
      _flags: number,
      received: readonly string[],
    ): void => {
      const request = new NodeRequest(stream, socket, headers, received);
      const unread = { add: () => undefined, remove: () => undefined };
      side.handle(request, new Http2Response(stream, request.method === 'HEAD', unread));
    };
    session.on('stream', receive as never);
  });
  return [ours, nodes];
}

const pairs: Record<number, [Side, Side]> = {};
const windows = [1_000, 65_535, 1_000_000];
beforeAll(async () => {
  for (const window of windows) {
    pairs[window] = sides();
    await Promise.all(pairs[window].map((side) => side.open(window)));
  }
});
afterAll(() => {
  for (const side of Object.values(pairs).flat()) side.close();
});

let ids = 0;

/** What a client gets for a request, and what was seen of it. */
async function told(side: Side, id: string, one: Asked): Promise<unknown> {
  const { method, bodySize, status, answerSize, answerPieces, takes } = one;
  const fields: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of one.fields)
    if (name !== 'te' || value === 'trailers')
      fields[name] = name === 'te' || name === 'user-agent' ? value : [fields[name] ?? [], value].flat();
  const hasBody = !['GET', 'HEAD'].includes(method) && bodySize > 0;
  if (hasBody && one.saysLength) fields['content-length'] = String(bodySize);
  const path = `/?id=${id}&size=${answerSize}&pieces=${answerPieces}&status=${status}`;
  const stream = side.session.request(
    { ...fields, ':method': method, ':path': path },
    { endStream: !hasBody, waitForTrailers: hasBody && one.hasTrailers },
  );
  stream.on('error', () => undefined);
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': '1' }));
  if (hasBody) {
    for (const piece of pieces(bodySize, one.bodyPieces)) stream.write(piece);
    stream.end();
  }
  const [head] = await once(stream, 'response');
  const { date, ...headers } = head;
  const seen = (): Seen => side.seen.get(id)!;
  if (takes !== undefined && method !== 'HEAD' && ![204, 304].includes(status) && answerSize > takes) {
    let taken = 0;
    await new Promise<void>((resolve) => {
      if (takes === 0) return resolve();
      stream.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        if (taken >= takes) resolve();
      });
    });
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => seen().ended).toBe('closed');
    return { headers: { ...headers }, seen: seen() };
  }
  const body = await buffer(stream);
  await expect.poll(() => seen().ended).toBe('closed');
  return { headers: { ...headers }, hasDate: typeof date, body: body.toString('latin1'), seen: seen() };
}

it('handlers and clients get the same from both', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...windows),
      fc.array(asked, { minLength: 1, maxLength: 4 }),
      async (window, all) => {
        const found = await Promise.all(
          pairs[window]!.map((side) => Promise.all(all.map((one, i) => told(side, `${ids}-${i}`, one)))),
        );
        ids++;
        expect(found[0]).toEqual(found[1]);
      },
    ),
    { numRuns: rounds(120) },
  );
}, 120_000);
