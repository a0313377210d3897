import { Duplex } from 'node:stream';
import { constants, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Arrivals, closed, RawPeer, readAll, socketPair } from './spdy.fixture.ts';
import { SpdyConnection } from './spdy-connection.ts';
import {
  controlFrameBytesMax,
  encodeDataHead,
  encodePing,
  encodeRstStream,
  encodeSynStream,
} from './spdy-frame.ts';
import { dictionary } from './spdy-headers.ts';
import type { SpdyStream } from './spdy-stream.ts';

const MiB = 1024 * 1024;
const protocolError = { type: 'goaway', status: 1 };
const failures: unknown[] = [];
const note = (error: unknown) => failures.push(error);

beforeEach(() => {
  process.on('uncaughtException', note).on('unhandledRejection', note);
});
afterEach(() => {
  process.off('uncaughtException', note).off('unhandledRejection', note);
  expect(failures.splice(0)).toEqual([]);
});

/** A server whose streams are not read unless a test does, and a scripted peer. */
async function victim(onStream?: (stream: SpdyStream) => void, role: 'server' | 'client' = 'server') {
  const [ours, theirs] = await socketPair();
  const streams = new Arrivals<SpdyStream>();
  const take = (stream: SpdyStream): void => {
    stream.accept();
    streams.add(stream);
    onStream?.(stream);
  };
  const connection = new SpdyConnection(ours, { role, onStream: take, pingMs: 0 });
  return { connection, socket: ours, peer: new RawPeer(theirs), streams };
}

/** Expects GOAWAY with a protocol error, the end of the socket, and a closed connection. */
async function expectThrownOut({ peer, connection }: Awaited<ReturnType<typeof victim>>): Promise<void> {
  await peer.ended;
  expect(peer.frames.at(-1)).toMatchObject(protocolError);
  peer.socket.end();
  await connection.closed;
}

describe('a hostile peer is thrown out', () => {
  it.each([
    ['a request of HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n').toString('hex')],
    ['a control frame of 16 MiB', '80030001 00ffffff'],
    ['another version', '80020001 0000000a 00000001000000000000'],
    ['an unknown control type', '80030005 00000000'],
    ['a header block that is none', '80030001 0000000e 00000001 00000000 0000 61626364'],
    ['stream id 0', '80030001 0000000a 00000000 00000000 0000'],
    ['ping id 0', '80030006 00000004 00000000'],
    ['data for stream 0', '00000000 00000001 61'],
  ])('after %s', async (_name, bytes) => {
    // Proves that a protocol error is answered with GOAWAY(1) and the end of the connection.
    const scene = await victim();
    scene.peer.write(bytes);
    // HTTP parses as a data frame of an unknown stream, which is dropped up to its length: send that much.
    if (bytes.startsWith('47455420')) scene.peer.write(Buffer.alloc(5 * MiB, 0x80));
    await expectThrownOut(scene);
  });

  it('after a decompression bomb', async () => {
    // Proves that a block is not decompressed beyond its bound.
    const scene = await victim();
    const plain = Buffer.concat([
      Buffer.from('00000001000000016101fffff7', 'hex'),
      Buffer.alloc(32 * MiB - 9),
    ]);
    const block = deflateSync(plain, { dictionary, finishFlush: constants.Z_SYNC_FLUSH });
    expect(block.length).toBeLessThan(controlFrameBytesMax);
    const before = process.memoryUsage().rss;
    scene.peer.write(encodeSynStream(1, block));
    await expectThrownOut(scene);
    expect(process.memoryUsage().rss - before).toBeLessThan(24 * MiB);
  });

  it('after 10,000 SYN_STREAMs', async () => {
    // Proves that 1000 streams are accepted, the rest refused, and that a peer that keeps opening streams is
    // disconnected.
    const scene = await victim();
    // Uncompressed blocks, which are fast to make.
    const block = Buffer.from('000400fbff00000000000000ffff', 'hex');
    const frames = [scene.peer.synStream(1)];
    for (let i = 1; i < 10_000; i++) frames.push(encodeSynStream(2 * i + 1, block));
    scene.peer.write(Buffer.concat(frames));
    await expectThrownOut(scene);
    const count = (type: string) => scene.peer.frames.filter((frame) => frame.type === type).length;
    expect(count('synReply')).toBe(1000);
    expect(count('rstStream')).toBe(1000);
    expect(scene.peer.frames.find(({ type }) => type === 'rstStream')).toMatchObject({ id: 2001, status: 3 });
  });

  it('after 1000 streams that nobody wants', async () => {
    // Proves that refusals by the connection and by `onStream` count alike.
    const scene = await victim((stream) => stream.reset());
    for (let i = 0; i < 1000; i++) scene.peer.write(scene.peer.synStream(2 * i + 1));
    await expectThrownOut(scene);
  });

  it('in the role of a kubelet too', async () => {
    // Proves that the client has the same limits, and that its pending opens fail.
    const scene = await victim(undefined, 'client');
    const opening = scene.connection.openStream({ streamType: 'error' });
    scene.peer.write('80030002 00000008 00000001 61626364');
    await expect(opening).rejects.toThrow('the connection is closed');
    await expectThrownOut(scene);
  });
});

describe('a hostile peer is held in bounds', () => {
  it('that was refused may come back', async () => {
    // Proves that streams are accepted again when others have ended.
    const scene = await victim();
    for (let i = 0; i < 1005; i++) scene.peer.write(scene.peer.synStream(2 * i + 1));
    await scene.peer.until(1005);
    (await scene.streams.next()).reset();
    await scene.peer.until(1006);
    scene.peer.write(scene.peer.synStream(5001));
    expect((await scene.peer.until(1007)).at(-1)).toMatchObject({ type: 'synReply', id: 5001 });
    scene.connection.destroy();
  });

  it('that sends tiny frames to a stream nobody reads', async () => {
    // Proves that the number of buffered pieces is bounded, not only their bytes.
    const { peer, socket, streams, connection } = await victim();
    peer.write(peer.synStream(1));
    const stream = await streams.next();
    const tiny = Buffer.concat([encodeDataHead(1, 1, false), Buffer.from('x')]);
    const many = Buffer.concat(Array.from({ length: 100_000 }, () => tiny));
    peer.write(many);
    await vi.waitUntil(() => socket.isPaused(), { timeout: 60_000 });
    expect(socket.bytesRead).toBeLessThan(MiB / 2);
    const reading = readAll(stream);
    peer.write(encodeDataHead(1, 0, true));
    expect((await reading).equals(Buffer.alloc(100_000, 'x'))).toBe(true);
    connection.destroy();
  });

  it('that fills many streams', async () => {
    // Proves the bound for all streams together, below the sum of the single bounds.
    const { peer, socket, connection } = await victim();
    for (let i = 0; i < 200; i++) {
      peer.write(peer.synStream(2 * i + 1));
      peer.write(Buffer.concat([encodeDataHead(2 * i + 1, 200 * 1024, false), Buffer.alloc(200 * 1024)]));
    }
    await vi.waitUntil(() => socket.isPaused(), { timeout: 60_000 });
    expect(socket.bytesRead).toBeLessThan(18 * MiB);
    connection.destroy();
  });

  it('that pings and does not read', async () => {
    // Proves that unread replies pause reading, so that they cannot accumulate.
    const { peer, socket, connection } = await victim();
    peer.socket.pause();
    const pings = Buffer.concat(Array.from({ length: 50_000 }, () => encodePing(1)));
    const pump = (): void => {
      while (!socket.destroyed && peer.socket.write(pings)) {}
    };
    peer.socket.on('drain', pump);
    pump();
    await vi.waitUntil(() => socket.isPaused() && socket.writableLength > 0, { timeout: 60_000 });
    let read = -1;
    await vi.waitUntil(() => read === (read = socket.bytesRead), { interval: 200, timeout: 60_000 });
    expect(socket.writableLength).toBeLessThan(MiB);
    connection.destroy();
  });

  it('that opens and resets streams and does not read', async () => {
    // Proves that SYN_REPLYs count as replies: unread ones pause reading.
    const block = Buffer.from('000400fbff00000000000000ffff', 'hex');
    let frames = [encodeSynStream(1, Buffer.concat([Buffer.from('7801', 'hex'), block]))];
    const streamsSent = 10_000;
    let id = 1;
    const socket = new Duplex({
      readableHighWaterMark: 16 * 1024,
      read() {
        if (id / 2 > streamsSent) return;
        for (let i = 0; i < 100; i++) {
          id += 2;
          frames.push(encodeSynStream(id, block), encodeRstStream(id, 5));
        }
        this.push(Buffer.concat(frames));
        frames = [];
      },
      // Never accepts anything.
      write: () => undefined,
    });
    const onStream = (stream: SpdyStream) => stream.accept();
    const connection = new SpdyConnection(socket, { role: 'server', onStream, pingMs: 0 });
    await vi.waitUntil(() => socket.isPaused(), { timeout: 60_000 });
    expect(id / 2).toBeLessThan(2000);
    connection.destroy();
    await connection.closed;
  });

  it('that floods pings and reads is answered, all of them', async () => {
    // Proves that reading always resumes after such a pause.
    const { peer, connection } = await victim();
    peer.write(Buffer.concat(Array.from({ length: 20_000 }, () => encodePing(7))));
    expect(await peer.until(20_000)).toHaveLength(20_000);
    connection.destroy();
  });

  it('whose 16 MiB data frame goes to nobody', async () => {
    // Proves that data for unknown streams is not buffered.
    const { peer, connection } = await victim();
    peer.write(encodeDataHead(9, 2 ** 24 - 1, true));
    peer.write(Buffer.alloc(2 ** 24 - 1));
    peer.write(encodePing(1));
    expect(await peer.until(1)).toEqual([{ type: 'ping', id: 1 }]);
    connection.destroy();
  });

  it('that cuts the line in the middle of anything', async () => {
    // Proves that a session may break off at every byte: streams close, nothing is left.
    const [, theirs] = await socketPair();
    const whole = Buffer.concat([
      new RawPeer(theirs).synStream(1),
      encodeDataHead(1, 5, false),
      Buffer.from('hello'),
      encodePing(1),
    ]);
    for (let at = 0; at <= whole.length; at += 3) {
      const streams: SpdyStream[] = [];
      const { peer, connection } = await victim((stream) => streams.push(stream.resume()));
      peer.write(whole.subarray(0, at));
      if (at % 2) peer.socket.end();
      else peer.socket.destroy();
      await connection.closed;
      for (const stream of streams) await closed(stream);
    }
  });

  it('that sends random bytes and frames', async () => {
    // Proves that after any input the connection closes in order when the peer leaves.
    const id = fc.integer({ min: 0, max: 9 }).map((value) => value.toString(16).padStart(8, '0'));
    const frame = fc.oneof(
      id.map((one) => `80030003 00000008 ${one} 00000005`),
      id.map((one) => `${one} 00000003 616263`),
      id.map((one) => `${one} 01000003 616263`),
      id.map((one) => `80030006 00000004 ${one}`),
      id.map((one) => `syn ${one}`),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('hex')),
      fc.constant('80030007 00000008 00000000 00000000'),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { maxLength: 30 }),
        fc.integer({ min: 1, max: 200 }),
        async (frames, size) => {
          const { peer, connection } = await victim((stream) => void stream.pipe(stream));
          const bytes = Buffer.concat(
            frames.map((text) =>
              text.startsWith('syn ')
                ? peer.synStream(Number.parseInt(text.slice(4), 16))
                : Buffer.from(text.replaceAll(' ', ''), 'hex'),
            ),
          );
          for (let at = 0; at < bytes.length; at += size) peer.write(bytes.subarray(at, at + size));
          peer.socket.end();
          await connection.closed;
        },
      ),
      { numRuns: 150 },
    );
  });
});
