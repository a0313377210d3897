/**
 * The framing of output without a terminal: each frame is one byte for the stream (1 stdout, 2 stderr), three zero
 * bytes, the length as a 32 bit number, and the data. The socket may split and join frames at will.
 */
import type { Readable, Writable } from 'node:stream';

const headBytes = 8;

export type FrameStream = 'stdout' | 'stderr';

export class FrameReader {
  #head: Buffer = Buffer.alloc(0);
  #left = 0;
  #stream: FrameStream = 'stdout';

  /** The pieces of output in a chunk. */
  *read(chunk: Buffer): Generator<{ readonly stream: FrameStream; readonly data: Buffer }> {
    let rest = chunk;
    while (rest.length) {
      if (this.#left) {
        const data = rest.subarray(0, this.#left);
        this.#left -= data.length;
        rest = rest.subarray(data.length);
        yield { stream: this.#stream, data };
        continue;
      }
      const missing = headBytes - this.#head.length;
      this.#head = Buffer.concat([this.#head, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#head.length < headBytes) return;
      // Stream 3 carries errors of the engine.
      this.#stream = this.#head[0]! >= 2 ? 'stderr' : 'stdout';
      this.#left = this.#head.readUInt32BE(4);
      this.#head = Buffer.alloc(0);
    }
  }
}

/**
 * Copies framed output to its targets, with back-pressure. Resolves when the source has ended or was destroyed; data for
 * a target that is gone is dropped.
 */
export function unframe(
  source: Readable,
  stdout: Writable | undefined,
  stderr: Writable | undefined,
): Promise<void> {
  const reader = new FrameReader();
  return pass(source, (chunk) => {
    let full: Writable | undefined;
    for (const { stream, data } of reader.read(chunk)) {
      const target = stream === 'stderr' ? stderr : stdout;
      if (target && !target.destroyed && !target.writableEnded && !target.write(data)) full = target;
    }
    return full;
  });
}

/** The same for a terminal, whose output is one stream without frames. */
export const copyRaw = (source: Readable, target: Writable | undefined): Promise<void> =>
  pass(source, (chunk) =>
    target && !target.destroyed && !target.writableEnded && !target.write(chunk) ? target : undefined,
  );

/** Passes chunks on; `take` returns the target to wait for, if one is full. */
function pass(source: Readable, take: (chunk: Buffer) => Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    source.on('data', (chunk: Buffer) => {
      const full = take(chunk);
      if (!full) return;
      source.pause();
      const resume = (): void => {
        full.off('drain', resume).off('close', resume);
        source.resume();
      };
      full.once('drain', resume).once('close', resume);
    });
    source.once('end', resolve).once('close', resolve);
    source.on('error', () => resolve());
    source.resume();
  });
}
