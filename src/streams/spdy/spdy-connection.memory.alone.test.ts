/** Proves that with reused read buffers, streams of one connection never get each other's bytes. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { copy, pipePace, socketPace } from '../bytes/byte-copy.ts';
import { reusingPair, socketPair } from './spdy.fixture.ts';
import { SpdyConnection } from './spdy-connection.ts';
import type { SpdyStream } from './spdy-stream.ts';

const streamBytes = 6 * 1024 * 1024;

/** Reads to the end, with pauses. */
async function readSlowly(socket: Socket, everyPieces: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (pieces.length % everyPieces) return;
    socket.pause();
    setTimeout(() => socket.resume(), 2);
  });
  await once(socket, 'end');
  return Buffer.concat(pieces);
}

/** Writes in pieces of all sizes. */
async function writeAll(stream: SpdyStream, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(Math.random() ** 3 * 150_000);
    if (!stream.write(bytes.subarray(at, end))) await once(stream, 'drain');
    at = end;
  }
  stream.end();
}

it('each stream gets its own bytes, however fast the others are read', async () => {
  const [clientSocket, serverSocket] = await reusingPair();
  const paces = [socketPace, pipePace, socketPace, pipePace];
  const received: Promise<Buffer>[] = [];
  const server = new SpdyConnection(serverSocket, {
    role: 'server',
    onStream: (stream) => {
      stream.accept();
      const index = received.length;
      received.push(
        (async () => {
          const [target, reader] = await socketPair();
          copy(stream, target, paces[index]!);
          stream.once('end', () => target.end());
          return readSlowly(reader, 3 + 10 * index);
        })(),
      );
    },
  });
  const client = new SpdyConnection(clientSocket, { role: 'client' });
  const sent = paces.map(() => randomBytes(streamBytes));
  await Promise.all(sent.map(async (bytes) => writeAll(await client.openStream({}), bytes)));
  const all = await Promise.all(received);
  expect(all.map((bytes, i) => bytes.equals(sent[i]!))).toEqual(paces.map(() => true));
  client.close();
  server.close();
});
