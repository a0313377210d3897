/** Proves that copies lose nothing, wait for slow targets, and give memory back after it was sent and not before. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { reusingPair, socketPair } from '../spdy/spdy.fixture.ts';
import { copy, type Pace, pipePace, socketPace } from './byte-copy.ts';
import { ReusedReads } from './reused-reads.ts';

const source = (): Readable => new Readable({ read: () => undefined });

describe('a copy', () => {
  it.each([
    ['sockets', socketPace],
    ['pipes', pipePace],
  ])(
    'brings everything to a slow target, from memory that is read into again, at the pace of %s',
    async (_name, pace: Pace) => {
      const [sender, source] = await reusingPair();
      const [targetEnd, reader] = await socketPair();
      const sent = randomBytes(12 * 1024 * 1024);
      copy(source, targetEnd, pace);
      sender.end(sent);
      const received: Buffer[] = [];
      let bytes = 0;
      await new Promise<void>((resolve) => {
        reader.on('data', (piece: Buffer) => {
          received.push(piece);
          bytes += piece.length;
          if (bytes === sent.length) resolve();
          // Now and then it stops reading, so that all buffers before it fill up.
          if (received.length % 7) return;
          reader.pause();
          setTimeout(() => reader.resume(), 3);
        });
      });
      expect(Buffer.concat(received).equals(sent)).toBe(true);
    },
  );

  it('stops its source when the target is behind, and goes on when it has caught up', async () => {
    const from = source();
    const done: (() => void)[] = [];
    const target = new Writable({
      highWaterMark: 1000,
      write: (_chunk, _encoding, callback) => void done.push(callback),
    });
    copy(from, target, { aheadBytesMax: 2000, soon: (write) => write() });
    from.push(Buffer.alloc(1500));
    await turn();
    expect(from.isPaused()).toBe(false);
    from.push(Buffer.alloc(1500));
    await turn();
    expect(from.isPaused()).toBe(true);
    while (done.length > 0) {
      done.shift()!();
      await turn();
    }
    expect(from.isPaused()).toBe(false);
  });

  it('drops what comes after the target has gone', async () => {
    const from = source();
    const target = new PassThrough();
    copy(from, target, pipePace);
    target.destroy();
    await once(target, 'close');
    from.push('nobody');
    from.push(null);
    await once(from, 'end');
    expect(target.readableLength).toBe(0);
  });

  it('that was stopped hands nothing on, and lets the source flow', async () => {
    const from = source();
    const target = new PassThrough();
    const stop = copy(from, target, pipePace);
    from.push('before');
    await turn();
    stop();
    from.push('after');
    from.push(null);
    await once(from, 'end');
    expect(String(target.read())).toBe('before');
  });
});

describe('memory', () => {
  let reads: ReusedReads;
  let from: Readable;

  beforeEach(() => {
    reads = new ReusedReads(64 * 1024);
    from = source();
  });

  /** Reads a piece, and lets it be copied. */
  const pass = async (bytes: number): Promise<ArrayBufferLike> => {
    reads.next();
    const piece = reads.piece(bytes);
    from.push(piece);
    await turn();
    return piece.buffer;
  };

  class Target extends Writable {
    unsentBytes: number | undefined = 0;

    override _write(_chunk: Buffer, _encoding: string, callback: () => void): void {
      callback();
    }
  }

  it('is given back piece by piece as the target sends', async () => {
    const target = new Target();
    copy(from, target, pipePace);
    const first = await pass(20_000);
    target.unsentBytes = 20_000;
    const second = await pass(30_000);
    target.unsentBytes = 50_000;
    // One byte of the second piece and all of this one are still unsent.
    const third = await pass(40_000);
    target.unsentBytes = 40_001;
    const fourth = await pass(10_000);
    expect(fourth).not.toBe(second);
    expect(reads.next().buffer).toBe(first);
    target.unsentBytes = 10_000;
    const fifth = await pass(10_000);
    expect(fifth).toBe(first);
    expect([second, third]).toContain(reads.next().buffer);
  });

  it('is not given back when somebody may keep it', async () => {
    const target = new Target();
    target.unsentBytes = undefined;
    copy(from, target, pipePace);
    const seen = new Set<unknown>();
    for (let i = 0; i < 20; i++) seen.add(await pass(20_000));
    expect(seen.size).toBe(20);
  });
});
