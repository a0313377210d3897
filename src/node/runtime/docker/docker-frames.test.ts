import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FrameReader, unframe } from './docker-frames.ts';

const frame = (stream: number, text: string): Buffer => {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
};

describe('framed output', () => {
  it('is the same however the socket cuts it', () => {
    // Proves that heads and data may be split anywhere, and that empty frames and engine errors are read.
    const all = Buffer.concat([frame(1, 'out\n'), frame(2, ''), frame(2, 'err'), frame(3, 'engine')]);
    for (let size = 1; size <= all.length; size++) {
      const reader = new FrameReader();
      const said = { stdout: '', stderr: '' };
      for (let at = 0; at < all.length; at += size)
        for (const { stream, data } of reader.read(all.subarray(at, at + size))) said[stream] += data;
      expect(said).toEqual({ stdout: 'out\n', stderr: 'errengine' });
    }
  });

  it('waits for a slow reader', async () => {
    // Proves back-pressure: nothing more is read while the target is full.
    const source = new PassThrough();
    let take = (): void => undefined;
    const taken: string[] = [];
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, next) {
        taken.push(String(chunk));
        take = next;
      },
    });
    const done = unframe(source, slow, undefined);
    source.write(frame(1, 'a'));
    await expect.poll(() => source.isPaused()).toBe(true);
    source.write(frame(1, 'b'));
    expect(taken).toEqual(['a']);
    take();
    await expect.poll(() => taken).toEqual(['a', 'b']);
    take();
    source.end();
    await done;
  });
});
