/**
 * The format of container logs on disk, as container runtimes write it:
 *
 *   2024-01-02T03:04:05.000000001Z stdout F a whole line
 *   2024-01-02T03:04:05.000000002Z stderr P a partial line, continued in the next
 *
 * In logs that Wherry writes, times are UTC with nine decimals, so the head of every line has the same length, and lines
 * sort by time. Container engines may leave out zeros at the end, or write the zone as an offset.
 */

/** Longer lines are stored in pieces of this size. */
const pieceBytesMax = 16 * 1024;
/** Length of `TIMESTAMP STREAM TAG `. */
const headBytes = 40;
export const stampBytes = 30;
const tagOffset = 38;
export const newline = 10;
const space = 32;
const zulu = 'Z'.charCodeAt(0);
const full = 'F'.charCodeAt(0);
const partial = 'P'.charCodeAt(0);

export type LogStream = 'stdout' | 'stderr';

/** The longest line on disk, line end included. */
export const storedLineBytesMax = headBytes + pieceBytesMax + 1;

/** The timestamp of a log line. `nano` is the part below the millisecond. */
export function stamp(ms: number, nano = 0): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(nano).padStart(6, '0')}Z`;
}

/** Whether the head of the stored line at `start` is as Wherry writes it. */
export const isPlain = (block: Buffer, start: number): boolean =>
  block[start + stampBytes - 1] === zulu && block[start + headBytes - 1] === space;

/** Length of the head of the stored line from `start` to `end`; 0 when the line has no valid head. */
export function headLength(block: Buffer, start: number, end: number): number {
  if (end - start >= headBytes && isPlain(block, start)) return headBytes;
  let at = start - 1;
  for (let part = 0; part < 3; part++) {
    at = block.indexOf(space, at + 1);
    if (at < 0 || at >= end) return 0;
  }
  return at + 1 - start;
}

/** Whether the stored line with this head is a piece that goes on in the next line. */
export const isPartial = (block: Buffer, start: number, head: number): boolean =>
  block[start + head - 2] === partial;

/**
 * Clock for log lines: milliseconds from the wall clock, the digits below from a counter, so that lines stay
 * in order.
 */
export class StampClock {
  #ms = Number.NaN;
  #since = 0n;

  constructor(private readonly now: () => number) {}

  next(): string {
    const ms = Math.trunc(this.now());
    const at = process.hrtime.bigint();
    if (ms !== this.#ms) {
      this.#ms = ms;
      this.#since = at;
    }
    const nano = at - this.#since;
    return stamp(ms, nano > 999_999n ? 999_999 : Number(nano));
  }
}

/** Turns the output of one stream into stored lines. An incomplete line waits for its rest. */
export class LineEncoder {
  readonly #pending = Buffer.allocUnsafe(pieceBytesMax);
  #pendingLength = 0;

  constructor(private readonly stream: LogStream) {}

  encode(chunk: Buffer, time: string): Buffer {
    const head = Buffer.from(`${time} ${this.stream} F `, 'latin1');
    const out = Buffer.allocUnsafe(this.#roomFor(chunk));
    let at = 0;
    const put = (tag: number, from: number, to: number): void => {
      out.set(head, at);
      out[at + tagOffset] = tag;
      at += headBytes;
      if (this.#pendingLength) at += this.#pending.copy(out, at, 0, this.#pendingLength);
      this.#pendingLength = 0;
      // For a few bytes a loop is faster than a call of copy().
      if (to - from < 32) for (let i = from; i < to; i++) out[at++] = chunk[i]!;
      else at += chunk.copy(out, at, from, to);
      out[at++] = newline;
    };
    let start = 0;
    while (start < chunk.length) {
      const found = chunk.indexOf(newline, start);
      const end = found < 0 ? chunk.length : found;
      while (this.#pendingLength + end - start > pieceBytesMax) {
        const cut = start + pieceBytesMax - this.#pendingLength;
        put(partial, start, cut);
        start = cut;
      }
      if (found < 0) {
        this.#pendingLength += chunk.copy(this.#pending, this.#pendingLength, start, end);
        break;
      }
      put(full, start, end);
      start = end + 1;
    }
    return out.subarray(0, at);
  }

  /** The incomplete line that is left when the stream has ended. */
  end(time: string): Buffer {
    if (!this.#pendingLength) return Buffer.alloc(0);
    const head = Buffer.from(`${time} ${this.stream} P `, 'latin1');
    const rest = this.#pending.subarray(0, this.#pendingLength);
    this.#pendingLength = 0;
    return Buffer.concat([head, rest, Buffer.from('\n')]);
  }

  #roomFor(chunk: Buffer): number {
    let lines = 2;
    for (let i = 0; i < chunk.length; i++) if (chunk[i] === newline) lines++;
    const bytes = this.#pendingLength + chunk.length;
    return bytes + (lines + Math.floor(bytes / pieceBytesMax)) * (headBytes + 1);
  }
}
