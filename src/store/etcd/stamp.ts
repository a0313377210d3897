/**
 * The stamp behind each value in etcd: a line with the time of the write and a mark that no other write has, such as
 * `1700000000000.4711081500000042`. The mark shows a writer its own write in the feed, also if it never got an answer.
 * Together they are a JSON number, so tools that read JSON still read the value.
 */

const STAMP = /^\n\d{13}\.\d{16}$/;
export const STAMP_BYTES = 31;
const sequenceMax = 10 ** 8;

export interface Stamped {
  readonly value: Buffer;
  /** Time of the write. Undefined, like the mark, for a value that another program wrote. */
  readonly timeMs?: number;
  readonly mark?: string;
}

/** Makes marks: eight digits that identify this writer, followed by a counter. */
export class Marks {
  readonly #writer: string;
  #sequence = 0;

  constructor(writer: number) {
    this.#writer = digits(writer, 8);
  }

  next(): string {
    this.#sequence = (this.#sequence + 1) % sequenceMax;
    return this.#writer + digits(this.#sequence, 8);
  }
}

export function stamp(value: Buffer, timeMs: number, mark: string): Buffer {
  return Buffer.concat([value, Buffer.from(`\n${digits(timeMs, 13)}.${mark}`)]);
}

export function unstamp(stamped: Buffer): Stamped {
  const at = stamped.length - STAMP_BYTES;
  const text = at < 0 ? '' : stamped.toString('latin1', at);
  if (!STAMP.test(text)) return { value: stamped };
  return { value: stamped.subarray(0, at), timeMs: Number(text.slice(1, 14)), mark: text.slice(15) };
}

function digits(value: number, count: number): string {
  const whole = Math.min(Math.max(Math.trunc(value), 0), 10 ** count - 1);
  return String(whole).padStart(count, '0');
}
