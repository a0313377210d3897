/** Proves that a buffer is reused only when all of it was given back, and that misuse is detected. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { optimized, poisonByte } from '../../switches.ts';
import { giveBack, isLent, ReusedReads, reusingSocket } from './reused-reads.ts';

const smallBytes = 64 * 1024;
const largeBytes = 512 * 1024;

describe('reads', () => {
  let reads: ReusedReads;

  beforeEach(() => {
    reads = new ReusedReads(largeBytes);
  });

  /** Reads a piece that does not fill its buffer. */
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
    giveBack(piece.subarray(0, 100));
    readOne();
    expect(reads.next().buffer).toBe(piece.buffer);
  });

  it('never go to memory of which a byte stays away', () => {
    const kept = readOne();
    giveBack(kept.subarray(1));
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
    giveBack(first.subarray(0, 0));
    expect(readOne().buffer).toBe(first.buffer);
    expect(readOne().buffer).not.toBe(first.buffer);
  });

  it('are stopped when a piece is given back twice', () => {
    const first = readOne();
    giveBack(first);
    expect(() => giveBack(first)).toThrow('given back twice');
  });

  it('are stopped when a part is given back twice while another is still out', () => {
    const piece = readOne();
    giveBack(piece.subarray(0, 200));
    expect(() => giveBack(piece.subarray(199, 300))).toThrow('given back twice');
  });

  it('leave nothing to read of what was given back', () => {
    const piece = readOne().fill('x');
    giveBack(piece.subarray(0, 10));
    expect([...piece.subarray(0, 10)]).toEqual(Array(10).fill(poisonByte));
    expect(piece.toString('latin1', 10, 12)).toBe('xx');
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

  it.runIf(optimized)('leaves the event loop to others while much is sent', async () => {
    const sent = Buffer.alloc(8 * 1024 * 1024, 'and runs ');
    // The kernel holds as much of it as it can.
    peer.end(sent);
    await new Promise((resolve) => setImmediate(resolve));
    const kept: Buffer[] = [];
    let [ofTurn, most, isOver] = [0, 0, false];
    const turn = (): void => {
      most = Math.max(most, ofTurn);
      ofTurn = 0;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    socket.on('data', (piece: Buffer) => {
      ofTurn += piece.length;
      kept.push(piece);
    });
    await once(socket, 'end');
    isOver = true;
    expect(Buffer.concat(kept).equals(sent)).toBe(true);
    expect(most).toBeLessThanOrEqual(512 * 1024 + smallBytes);
  });

  it.runIf(optimized)('reads of few of many connections in one turn, and of all in the end', async () => {
    const { port } = server.address() as AddressInfo;
    const sent = Buffer.alloc(2 * 1024 * 1024, 'lazy ');
    const sockets: Socket[] = [];
    for (let i = 0; i < 32; i++) {
      const one = reusingSocket({ allowHalfOpen: true });
      one.pause().connect(port, '127.0.0.1');
      const [other] = (await once(server, 'connection')) as [Socket];
      other.end(sent);
      sockets.push(one);
      onTestFinished(() => void one.destroy());
    }
    const ofTurn = new Set<Socket>();
    const counts: number[] = [];
    let isOver = false;
    const turn = (): void => {
      counts.push(ofTurn.size);
      ofTurn.clear();
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const bytes = await Promise.all(
      sockets.map(async (one) => {
        let length = 0;
        one.on('data', (piece: Buffer) => {
          length += piece.length;
          ofTurn.add(one);
        });
        one.resume();
        await once(one, 'end');
        return length;
      }),
    );
    isOver = true;
    expect(new Set(bytes)).toEqual(new Set([sent.length]));
    // At first each reads once before it is known how much that is.
    const read = counts.filter((count) => count > 0);
    expect(read.reduce((sum, count) => sum + count, 0) / read.length).toBeLessThan(6);
    expect(read.filter((count) => count > 8).length).toBeLessThanOrEqual(2);
  });

  it.runIf(optimized)(
    'goes on when it was stopped for others, and paused and resumed before its turn',
    async () => {
      const { port } = server.address() as AddressInfo;
      const sent = Buffer.alloc(4 * 1024 * 1024, 'dogs ');
      const sockets: Socket[] = [];
      for (let i = 0; i < 8; i++) {
        const one = reusingSocket({ allowHalfOpen: true });
        one.pause().connect(port, '127.0.0.1');
        const [other] = (await once(server, 'connection')) as [Socket];
        other.end(sent);
        sockets.push(one);
        onTestFinished(() => void one.destroy());
      }
      const lengths = sockets.map(() => 0);
      const all = sockets.map((one, i) => {
        one.on('data', (piece: Buffer) => {
          lengths[i]! += piece.length;
          for (const other of sockets) other.pause();
          setImmediate(() => {
            for (const other of sockets) setImmediate(() => other.resume());
          });
        });
        return once(one.resume(), 'end');
      });
      await Promise.all(all);
      expect(new Set(lengths)).toEqual(new Set([sent.length]));
    },
  );

  it.runIf(optimized)('goes on after its turn when it was paused and resumed meanwhile', async () => {
    const sent = Buffer.alloc(8 * 1024 * 1024, 'far away ');
    peer.end(sent);
    let bytes = 0;
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length;
      socket.pause();
      if (bytes % 3 === 0) socket.resume();
      else setImmediate(() => setImmediate(() => socket.resume()));
    });
    await once(socket, 'end');
    expect(bytes).toBe(sent.length);
  });

  it.runIf(optimized)('lends what it reads', async () => {
    peer.write(Buffer.alloc(smallBytes));
    const [piece] = (await once(socket, 'data')) as [Buffer];
    expect(isLent(piece)).toBe(true);
  });
});
