/** Reads tar archives as a stream: ustar, with the long names of GNU and pax. */
import { type DumpFile, type DumpReading, nameProblem } from './dump-file.ts';

const block = 512;
/** A record that names the next file. */
const nameBytesMax = 64 * 1024;

/** Whether a file begins like a tar archive. */
export const isTar = (head: Buffer): boolean =>
  head.length >= block && head.toString('latin1', 257, 262) === 'ustar';

export async function* readTar(
  archive: string,
  chunks: AsyncIterable<Buffer>,
  reading: DumpReading,
): AsyncGenerator<DumpFile> {
  const source = new ByteSource(chunks);
  let longName: string | undefined;
  for (;;) {
    const head = await source.take(block);
    if (head.length < block || head.every((byte) => byte === 0)) {
      if (head.length > 0 && head.length < block) reading.problem(archive, 'it is cut off');
      return;
    }
    const size = numberOf(head.subarray(124, 136));
    if (!isChecked(head) || size === undefined)
      return reading.problem(archive, 'it is damaged: no tar header');
    const type = String.fromCharCode(head[156]!);
    const padding = (block - (size % block)) % block;
    if (type === 'L' || type === 'x') {
      if (size > nameBytesMax) return reading.problem(archive, 'it is damaged: a name without an end');
      const text = (await source.take(size)).toString('utf8');
      await source.skip(padding);
      longName = type === 'L' ? text.replace(/\0.*$/s, '') : (paxPath(text) ?? longName);
      continue;
    }
    const name = longName ?? headName(head);
    longName = undefined;
    const path = `${archive}/${name.replace(/^(\.\/)+/, '')}`;
    if (!isRead(type, path, name, size, reading)) {
      await source.skip(size + padding);
      continue;
    }
    const bytes = await source.take(size);
    if (bytes.length < size) return reading.problem(path, 'the archive is cut off in it');
    await source.skip(padding);
    yield { path, bytes };
  }
}

function isRead(type: string, path: string, name: string, size: number, reading: DumpReading): boolean {
  // Folders, and records about the whole archive.
  if (type === '5' || type === 'g') return false;
  const isFile = type === '0' || type === '\0' || type === '7';
  const why = nameProblem(name) ?? (isFile ? undefined : 'it is a link or a device');
  if (why) reading.problem(path, why);
  return reading.admits(path, size) && !why;
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8').replace(/\0.*$/s, '');

function headName(head: Buffer): string {
  const prefix = head.toString('latin1', 257, 263) === 'ustar\0' ? textOf(head.subarray(345, 500)) : '';
  const name = textOf(head.subarray(0, 100));
  return prefix ? `${prefix}/${name}` : name;
}

/** Octal digits, or with its first bit set a number of bytes; undefined: neither, or too large. */
function numberOf(field: Buffer): number | undefined {
  if (field[0]! & 0x80) {
    const number = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, field[0]! & 0x7f);
    return Number.isSafeInteger(number) ? number : undefined;
  }
  const digits = textOf(field).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : undefined;
}

function isChecked(head: Buffer): boolean {
  let sum = 0;
  for (let i = 0; i < block; i++) sum += i >= 148 && i < 156 ? 0x20 : head[i]!;
  return numberOf(head.subarray(148, 156)) === sum;
}

/** The path in the records of pax: `LENGTH path=VALUE`. */
function paxPath(text: string): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(text)?.[1];
}

/** Bytes of a stream, as many as are asked for. */
class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Fewer at the end of the stream. */
  async take(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) break;
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) return;
      const skipped = Math.min(left, this.#rest.length);
      this.#rest = this.#rest.subarray(skipped);
      left -= skipped;
    }
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (!done) this.#rest = value;
    return !done;
  }
}
