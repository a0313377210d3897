/** Proves that memory is read into again only when it was given back, and that short pieces hold none of it. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReusedReads, reusedReads, reusingSocket } from './reusedreads.ts';

const bufferBytes = 64 * 1024;

describe('reads', () => {
  it('go to other memory while a piece is out, and to the same when it was taken back', () => {
    const reads = new ReusedReads();
    const first = reads.next();
    reads.piece(bufferBytes);
    const second = reads.next();
    expect(second.buffer).not.toBe(first.buffer);
    reads.piece(bufferBytes);
    reads.takeBack();
    expect(reads.next().buffer).toBe(first.buffer);
  });

  it('leave alone the piece that is being handed out when earlier ones are taken back', () => {
    const reads = new ReusedReads();
    const first = reads.next();
    reads.piece(bufferBytes);
    reads.takeBack();
    expect(reads.next().buffer).not.toBe(first.buffer);
  });

  it('copy short pieces, and go on in the same memory', () => {
    const reads = new ReusedReads();
    const buffer = reads.next();
    buffer.write('first');
    const piece = reads.piece(5);
    expect(reads.next()).toBe(buffer);
    buffer.write('other');
    expect(piece.toString()).toBe('first');
  });

  it('keep a bounded number of buffers', () => {
    const reads = new ReusedReads();
    const lent = new Set<unknown>();
    for (let i = 0; i < 100; i++) {
      lent.add(reads.next().buffer);
      reads.piece(bufferBytes);
    }
    reads.takeBack();
    let reused = 0;
    for (let i = 0; i < 100; i++) {
      if (lent.has(reads.next().buffer)) reused++;
      reads.piece(bufferBytes);
    }
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
