/** Proves that memory is read into again only when all of it was given back, and that connections survive the change. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { giveBack, isLent, ReusedReads, reusing, reusingSocket } from './reusedreads.ts';

const smallBytes = 64 * 1024;
const largeBytes = 512 * 1024;

describe('reads', () => {
  let reads: ReusedReads;

  beforeEach(() => {
    reads = new ReusedReads(largeBytes);
  });

  /** Reads a piece that does not fill its memory. */
  const readOne = (): Buffer => {
    reads.next();
    return reads.piece(smallBytes - 1);
  };

  it('go to other memory while a piece is with somebody, and to the same when it was given back', () => {
    const first = readOne();
    const second = readOne();
    expect(second.buffer).not.toBe(first.buffer);
    giveBack(first);
    expect(readOne().buffer).toBe(first.buffer);
    giveBack(second);
    expect(readOne().buffer).toBe(second.buffer);
  });

  it('go to the same memory when a piece was given back in parts, and not before the last', () => {
    const piece = readOne();
    giveBack(piece.subarray(100));
    expect(reads.next().buffer).not.toBe(piece.buffer);
    giveBack(piece, 100);
    readOne();
    expect(reads.next().buffer).toBe(piece.buffer);
  });

  it('never go to memory of which a byte stays away', () => {
    const kept = readOne();
    giveBack(kept, kept.length - 1);
    for (let i = 0; i < 20; i++) {
      const piece = readOne();
      expect(piece.buffer).not.toBe(kept.buffer);
      giveBack(piece);
    }
  });

  it('go to different memory after nothing was given back of memory that was free', () => {
    const first = readOne();
    readOne();
    giveBack(first);
    giveBack(first, 0);
    expect(readOne().buffer).toBe(first.buffer);
    expect(readOne().buffer).not.toBe(first.buffer);
  });

  it('copy short pieces, and go on in the same memory', () => {
    const buffer = reads.next();
    buffer.write('first');
    const piece = reads.piece(5);
    expect(isLent(piece)).toBe(false);
    giveBack(piece);
    expect(reads.next()).toBe(buffer);
    buffer.write('other');
    expect(piece.toString()).toBe('first');
  });

  it('keep a bounded amount of memory', () => {
    const pieces = Array.from({ length: 100 }, readOne);
    for (const piece of pieces) giveBack(piece);
    const known = new Set<unknown>(pieces.map(({ buffer }) => buffer));
    expect(known.size).toBe(100);
    const again = Array.from({ length: 100 }, readOne).filter(({ buffer }) => known.has(buffer));
    expect(again.length).toBeGreaterThan(0);
    expect(again.length * smallBytes).toBeLessThanOrEqual(1024 * 1024 + smallBytes);
  });

  it('go to more memory once a piece that filled it was given back, and to little again after a short one', () => {
    expect(reads.next().length).toBe(smallBytes);
    giveBack(reads.piece(smallBytes));
    expect(reads.next().length).toBe(largeBytes);
    giveBack(reads.piece(smallBytes));
    expect(reads.next().length).toBe(largeBytes);
    reads.piece(1);
    expect(reads.next().length).toBe(smallBytes);
  });

  it('do not go to more memory for somebody who gives nothing back', () => {
    for (let i = 0; i < 10; i++) {
      expect(reads.next().length).toBe(smallBytes);
      reads.piece(smallBytes);
    }
  });
});

describe('a socket', () => {
  let server: Server;
  let socket: Socket;
  let peer: Socket;

  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = reusingSocket({ allowHalfOpen: true });
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

  it('lends what it reads', async () => {
    peer.write(Buffer.alloc(smallBytes));
    const [piece] = (await once(socket, 'data')) as [Buffer];
    expect(isLent(piece)).toBe(true);
  });
});

describe('an accepted socket', () => {
  let server: Server;
  let client: Socket;
  let given: Socket;

  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    client.on('error', () => undefined);
    [given] = (await once(server, 'connection')) as [Socket];
  });

  afterEach(() => {
    client.destroy();
    given.destroy();
    server.close();
  });

  const textOf = async (socket: Socket): Promise<string> => {
    const kept: Buffer[] = [];
    socket.on('data', (piece: Buffer) => kept.push(piece));
    await once(socket, 'end');
    return Buffer.concat(kept).toString();
  };

  it('is heard and spoken to in its new form, also when each side ends alone', async () => {
    const socket = reusing(given);
    expect(socket).not.toBe(given);
    socket.write('hello ');
    client.end('x'.repeat(smallBytes * 3));
    expect(await textOf(socket)).toBe('x'.repeat(smallBytes * 3));
    socket.end('and goodbye');
    expect(await textOf(client)).toBe('hello and goodbye');
  });

  it('lends what it reads', async () => {
    client.write(Buffer.alloc(smallBytes));
    const [piece] = (await once(reusing(given), 'data')) as [Buffer];
    expect(isLent(piece)).toBe(true);
  });

  it('loses nothing that came before', async () => {
    client.write('one ');
    await once(given, 'readable');
    const socket = reusing(given);
    client.end('two');
    expect(await textOf(socket)).toBe('one two');
  });

  it('knows of an end that came before', async () => {
    client.end('that was all');
    await once(given, 'readable');
    // The end is there when another look at it brings nothing new.
    given.read(0);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(await textOf(reusing(given))).toBe('that was all');
  });

  it('is closed with the one it was', async () => {
    const socket = reusing(given);
    given.destroy();
    await once(socket, 'close');
    expect(await textOf(client)).toBe('');
  });

  it('fails as the one it was would have', async () => {
    const socket = reusing(given);
    const failed = once(given, 'error');
    client.resetAndDestroy();
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(socket.destroyed).toBe(true);
  });

  it('is not counted by its server any more when its new form is closed', async () => {
    const socket = reusing(given);
    const closed = once(server.close(), 'close');
    socket.destroy();
    await closed;
    expect(given.destroyed).toBe(true);
  });

  it('stays as it is when that cannot be done', async () => {
    const other = new PassThrough();
    expect(reusing(other)).toBe(other);
    const secured = new TLSSocket(new PassThrough());
    expect(reusing(secured)).toBe(secured);
    secured.destroy();
    const unconnected = new Socket();
    expect(reusing(unconnected)).toBe(unconnected);
    given.cork();
    given.write('under way');
    expect(reusing(given)).toBe(given);
    given.uncork();
    given.destroy();
    expect(reusing(given)).toBe(given);
  });
});
