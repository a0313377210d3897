/** Proves that memory is read into again only when it was given back, and that short pieces hold none of it. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReusedReads, reusedReads, reusingSocket } from './reusedreads.ts';

const bufferBytes = 64 * 1024;

describe('reads', () => {
  /** Reads a piece, and lends it. */
  const lendOne = (reads: ReusedReads): ArrayBufferLike => {
    const { buffer } = reads.next();
    reads.lend(reads.piece(bufferBytes));
    return buffer;
  };

  it('go to other memory while a piece is lent, and to the same when it was taken back', () => {
    const reads = new ReusedReads();
    const first = lendOne(reads);
    const second = lendOne(reads);
    expect(second).not.toBe(first);
    reads.takeBack();
    expect([first, second]).toContain(reads.next().buffer);
  });

  it('never go to memory of a piece that was not lent', () => {
    // Proves that what waits in a stream is safe, whatever is taken back meanwhile.
    const reads = new ReusedReads();
    const kept = reads.next().buffer;
    reads.piece(bufferBytes);
    lendOne(reads);
    reads.takeBack();
    for (let i = 0; i < 20; i++) {
      expect(reads.next().buffer).not.toBe(kept);
      reads.lend(reads.piece(bufferBytes));
      reads.takeBack();
    }
  });

  it('copy short pieces, and go on in the same memory', () => {
    const reads = new ReusedReads();
    const buffer = reads.next();
    buffer.write('first');
    const piece = reads.piece(5);
    reads.lend(piece);
    reads.takeBack();
    expect(reads.next()).toBe(buffer);
    buffer.write('other');
    expect(piece.toString()).toBe('first');
  });

  it('keep a bounded number of buffers', () => {
    const reads = new ReusedReads();
    const lent = new Set<unknown>();
    for (let i = 0; i < 100; i++) lent.add(lendOne(reads));
    reads.takeBack();
    let reused = 0;
    for (let i = 0; i < 100; i++) if (lent.has(lendOne(reads))) reused++;
    expect(lent.size).toBe(100);
    expect(reused).toBeLessThan(10);
  });
});

describe('a socket', () => {
  let server: Server;
  let socket: Socket;
  let peer: Socket;

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = reusingSocket({});
    socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
    [peer] = (await once(server, 'connection')) as [Socket];
  });

  afterEach(() => {
    socket.destroy();
    peer.destroy();
    server.close();
  });

  it('gives a reader who keeps everything what was sent', async () => {
    const sent = Buffer.alloc(4 * 1024 * 1024, 'the quick brown fox ');
    const kept: Buffer[] = [];
    socket.on('data', (piece: Buffer) => kept.push(piece));
    peer.end(sent);
    await once(socket, 'end');
    expect(Buffer.concat(kept).equals(sent)).toBe(true);
  });

  it('keeps what comes before there is a reader, and while the reader pauses', async () => {
    const sent = Buffer.alloc(1024 * 1024, 'jumps over the lazy dog ');
    peer.end(sent);
    await once(socket, 'readable');
    const kept: Buffer[] = [];
    socket.on('data', (piece: Buffer) => {
      kept.push(piece);
      socket.pause();
      setImmediate(() => socket.resume());
    });
    socket.resume();
    await once(socket, 'end');
    expect(Buffer.concat(kept).equals(sent)).toBe(true);
  });

  it('is known for it, and others are not', () => {
    expect(reusedReads(socket)).toBeInstanceOf(ReusedReads);
    expect(reusedReads(peer)).toBeUndefined();
  });
});
