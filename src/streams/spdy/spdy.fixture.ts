/** Helpers for tests of SPDY: connections over real sockets, and a peer that writes arbitrary bytes. */
import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { reusingSocket } from '../bytes/reused-reads.ts';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy-connection.ts';
import { type ControlFrame, encodeSynStream, FrameParser } from './spdy-frame.ts';
import { HeaderEncoder } from './spdy-headers.ts';
import type { SpdyStream } from './spdy-stream.ts';

/** Two ends of a TCP connection; they are destroyed when the test is over. */
export const socketPair = (): Promise<[server: Socket, client: Socket]> => joined(new Socket());

/** The same, with a client that reads into reused buffers. */
export const reusingPair = (): Promise<[server: Socket, client: Socket]> =>
  joined(reusingSocket({ allowHalfOpen: true }));

async function joined(client: Socket): Promise<[server: Socket, client: Socket]> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accepted = once(listener, 'connection') as Promise<[Socket]>;
  client.connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const [server] = await accepted;
  listener.close();
  onTestFinished(() => {
    for (const socket of [server, client]) socket.on('error', () => {}).destroy();
  });
  return [server, client];
}

type Options = Omit<SpdyConnectionOptions, 'role'>;

/** A connected client and server. The server accepts every stream and adds it to `streams`. */
export async function spdyPair(serverOptions: Options = {}, clientOptions: Options = {}) {
  const [serverSocket, clientSocket] = await socketPair();
  const streams = new Arrivals<SpdyStream>();
  const onStream = (stream: SpdyStream) => {
    stream.accept();
    streams.add(stream);
  };
  const server = new SpdyConnection(serverSocket, { role: 'server', onStream, ...serverOptions });
  const client = new SpdyConnection(clientSocket, { role: 'client', ...clientOptions });
  return { server, client, serverSocket, clientSocket, streams };
}

/** A queue of items that arrive, to be awaited in order. */
export class Arrivals<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  add(item: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(item);
    else this.#items.push(item);
  }

  next(): Promise<T> {
    const item = this.#items.shift();
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item);
  }
}

/** A scripted peer: writes any bytes, and records the frames that come back. */
export class RawPeer {
  readonly socket: Socket;
  readonly frames: (ControlFrame | { type: 'data'; id: number; bytes: string; fin: boolean })[] = [];
  readonly ended: Promise<unknown>;
  readonly #encoder = new HeaderEncoder();
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    const parser = new FrameParser({
      onControl: (frame) => this.frames.push(frame),
      onData: (id, bytes, fin) => this.frames.push({ type: 'data', id, bytes: bytes.toString(), fin }),
    });
    socket.on('data', (chunk: Buffer) => {
      parser.push(chunk);
      this.#wake();
    });
    socket.on('error', () => {});
    this.ended = Promise.race([once(socket, 'end'), once(socket, 'close')]);
  }

  write(bytes: Buffer | string): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes.replaceAll(' ', ''), 'hex') : bytes);
  }

  synStream(id: number, headers: Record<string, string> = { streamtype: 'error' }): Buffer {
    return encodeSynStream(id, this.#encoder.encode(headers));
  }

  /** Waits until this many frames have arrived. */
  async until(count: number): Promise<RawPeer['frames']> {
    while (this.frames.length < count) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.frames;
  }
}

/** Reads to the end; unlike `for await` it does not destroy the other half. */
export async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!stream.readableEnded) await once(stream, 'end');
  return Buffer.concat(chunks);
}

/** Waits until a stream is closed, in whatever way; resolves at once if it already is. */
export function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
}
