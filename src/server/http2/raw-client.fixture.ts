/** For tests: a client of HTTP/2 that sends any frames it likes, and a lane that serves it on a plain socket. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { encodeHeaders } from '../../grpc/header-block.ts';
import { FieldDecoder } from '../../http2/field-decoder.ts';
import { Flag, Frame } from '../../http2/frame-rules.ts';
import type { ApiRequest, ApiResponse } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { preface } from './frame-input.ts';
import { Http2Lane } from './http2-lane.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamResponse } from './stream-response.ts';

export interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

export const frame = (type: number, flags: number, id: number, payload: Buffer | string = ''): Buffer => {
  const content = typeof payload === 'string' ? Buffer.from(payload, 'hex') : payload;
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, content]);
};

export const get = { ':method': 'GET', ':scheme': 'https', ':path': '/', ':authority': 'x' };
export const post = { ...get, ':method': 'POST' };

/** Headers of a request; with its end unless other flags are given. */
export const headers = (
  id: number,
  fields: Record<string, string> = get,
  flags: number = Flag.endStream | Flag.endHeaders,
): Buffer => frame(Frame.headers, flags, id, encodeHeaders(fields));

export const setting = (name: number, value: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(name, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
};

export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** What answers requests: by default with their method and path, or an echo of their body. */
export type Handler = (request: StreamRequest, response: StreamResponse) => void;

const answer: Handler = (request, response) => {
  const body = request.body;
  if (body) {
    response.writeHead(200, ['content-type', 'text/plain']);
    response.end(body.length > 0 ? body : `${request.method} ${request.url}`);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => response.writeHead(200, []).end(Buffer.concat(chunks)));
};

export class RawClient {
  readonly seen: SeenFrame[] = [];
  readonly #decoder = new FieldDecoder();
  /** Fields of the answers, by stream. */
  readonly fields = new Map<number, Record<string, string>>();
  #rest: Buffer = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  constructor(
    readonly socket: Socket,
    readonly lane: Http2Lane,
  ) {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('close', () => this.#wake());
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5);
      const id = this.#rest.readUInt32BE(5);
      const payload = this.#rest.subarray(9, end);
      this.seen.push({ type, flags, id, payload });
      if (type === Frame.headers && flags & Flag.endHeaders)
        this.fields.set(
          id,
          Object.fromEntries(this.#decoder.decode(payload).map(({ name, value }) => [name, value])),
        );
      this.#rest = this.#rest.subarray(end);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  send(...frames: Buffer[]): this {
    this.socket.write(Buffer.concat(frames));
    return this;
  }

  /** Resolves when this is true of what was seen, or the connection has ended. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !this.socket.closed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The first frame of this kind; undefined: the connection has ended without one. */
  async frame(type: number, id: number, flags = 0): Promise<SeenFrame | undefined> {
    const isIt = (one: SeenFrame): boolean =>
      one.type === type && one.id === id && (one.flags & flags) === flags;
    await this.until(() => this.seen.some(isIt));
    return this.seen.find(isIt);
  }

  body(id: number): Buffer {
    return Buffer.concat(
      this.seen.filter((one) => one.type === Frame.data && one.id === id).map(({ payload }) => payload),
    );
  }

  /** The whole answer of a stream. */
  async answer(id: number): Promise<{ status: string | undefined; text: string }> {
    await this.until(() =>
      this.seen.some((one) => one.id === id && one.flags & Flag.endStream && one.type < 2),
    );
    return { status: this.fields.get(id)?.[':status'], text: String(this.body(id)) };
  }

  /** Error code of the reset of a stream, or of the farewell of the connection for stream 0. */
  async reason(id: number): Promise<number | undefined> {
    const seen = await this.frame(id === 0 ? Frame.goAway : Frame.reset, id);
    return seen?.payload.readUInt32BE(id === 0 ? 4 : 0);
  }
}

export interface Served {
  readonly requests: StreamRequest[];
  readonly responses: StreamResponse[];
  readonly lane: Http2Lane;
  /** A connection; with its preface and settings, unless told otherwise. */
  connected(settings?: Buffer | false): Promise<RawClient>;
}

/** A lane on a plain socket. @param handle answers requests */
export async function served(
  handle: Handler = answer,
  openingMs = 60_000,
  streamsMax = 100,
): Promise<Served> {
  const requests: StreamRequest[] = [];
  const responses: StreamResponse[] = [];
  const take = (_door: Door, request: ApiRequest, response: ApiResponse): void => {
    requests.push(request as StreamRequest);
    responses.push(response as StreamResponse);
    handle(request as StreamRequest, response as StreamResponse);
  };
  const reception = {
    request: take,
    turnAway: (_door: Door, _request: ApiRequest, response: ApiResponse) => {
      response.writeHead(405, []);
      response.end();
    },
  } as unknown as Reception;
  const lane = new Http2Lane({} as Door, reception, new Arrivals(undefined, true), { streamsMax }, openingMs);
  const server: Server = createServer({ noDelay: true }, (socket) => lane.take(socket as TLSSocket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    lane.shut();
    lane.closeAll();
    server.close();
  });
  const connected = async (settings: Buffer | false = frame(Frame.settings, 0, 0)): Promise<RawClient> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    const client = new RawClient(socket.setNoDelay(true), lane);
    if (settings) client.send(preface, settings);
    return client;
  };
  return { requests, responses, lane, connected };
}
