/** Reads zip archives by their directory at the end, file by file: stored and deflated ones. */
import type { FileHandle } from 'node:fs/promises';
import { crc32, inflateRawSync } from 'node:zlib';
import { type DumpFile, type DumpReading, fileBytesMax, nameProblem, tooLarge } from './dump-file.ts';

const localMark = 0x04034b50;
const entryMark = 0x02014b50;
const endMark = 0x06054b50;
const endBytes = 22;
/** The record at the end may have a comment. */
const commentBytesMax = 65_535;
/** Size of the directory, which is read at once. */
const directoryBytesMax = 128 * 1024 * 1024;
/** What stands for a number that is in a record of zip64. */
const beyond32 = 0xffffffff;
const linkMode = 0o120000;
const modeMask = 0o170000;

/** Whether a file begins like a zip archive; an empty one has no file. */
export const isZip = (head: Buffer): boolean =>
  head.length >= 4 && (head.readUInt32LE(0) === localMark || head.readUInt32LE(0) === endMark);

interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly isSealed: boolean;
  readonly isLink: boolean;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

export async function* readZip(
  archive: string,
  file: FileHandle,
  size: number,
  reading: DumpReading,
): AsyncGenerator<DumpFile> {
  const directory = await directoryOf(file, size);
  if (typeof directory === 'string') return reading.problem(archive, directory);
  const total = { total: 0 };
  const seen = new Set<string>();
  let packedLeft = size;
  for (const entry of entriesOf(directory)) {
    if (!entry) return reading.problem(archive, 'its directory is damaged');
    const path = `${archive}/${entry.name}`;
    if (entry.name.endsWith('/')) continue;
    // Many that share their bytes would be read again and again.
    packedLeft -= entry.packed;
    if (packedLeft < 0 && entry.packed !== beyond32)
      return reading.problem(archive, 'its files are longer than itself: the rest of it was not read');
    if (!reading.admits(path, entry.size)) continue;
    const why = seen.has(entry.name) ? 'the archive has two files of this name' : entryProblem(entry);
    seen.add(entry.name);
    const bytes = why ?? (await contentOf(file, entry));
    if (typeof bytes === 'string') {
      reading.problem(path, bytes);
      // Unpacked in vain, it has taken its time: many such files would take days.
      if (!why) reading.unpacked(entry.size, total, size);
      continue;
    }
    reading.unpacked(bytes.length, total, size);
    reading.bytesRead += entry.packed;
    yield { path, bytes };
  }
}

async function directoryOf(file: FileHandle, size: number): Promise<Buffer | string> {
  const tail = await readAt(file, Math.max(0, size - endBytes - commentBytesMax), endBytes + commentBytesMax);
  let end = tail.length - endBytes;
  while (end >= 0 && tail.readUInt32LE(end) !== endMark) end--;
  if (end < 0) return 'it is cut off: a zip archive has its directory at the end';
  const length = tail.readUInt32LE(end + 12);
  const at = tail.readUInt32LE(end + 16);
  if (length === beyond32 || at === beyond32)
    return 'it is a zip64 archive, which is not read: pack it as tar.gz';
  if (length > directoryBytesMax) return `its directory has more than ${directoryBytesMax} bytes`;
  const directory = await readAt(file, at, length);
  return directory.length === length ? directory : 'it is cut off';
}

function* entriesOf(directory: Buffer): Generator<ZipEntry | undefined> {
  for (let at = 0; at < directory.length; ) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== entryMark) {
      yield undefined;
      return;
    }
    const nameEnd = at + 46 + directory.readUInt16LE(at + 28);
    const isUnix = directory[at + 5] === 3;
    yield {
      name: directory.toString('utf8', at + 46, nameEnd).replaceAll('\\', '/'),
      isSealed: (directory.readUInt16LE(at + 8) & 1) === 1,
      method: directory.readUInt16LE(at + 10),
      crc: directory.readUInt32LE(at + 16),
      packed: directory.readUInt32LE(at + 20),
      size: directory.readUInt32LE(at + 24),
      isLink: isUnix && (directory.readUInt16LE(at + 40) & modeMask) === linkMode,
      at: directory.readUInt32LE(at + 42),
    };
    at = nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
}

function entryProblem({ name, isLink, isSealed, method, packed, size, at }: ZipEntry): string | undefined {
  if ([packed, size, at].includes(beyond32)) return 'it is in the form of zip64, which is not read';
  if (isLink) return 'it is a link or a device';
  if (isSealed) return 'it is encrypted';
  if (method !== 0 && method !== 8) return `it is packed by method ${method}, which is not read`;
  return nameProblem(name);
}

/** The bytes of a file, or what is wrong with them. */
async function contentOf(
  file: FileHandle,
  { at, packed, size, method, crc }: ZipEntry,
): Promise<Buffer | string> {
  const head = await readAt(file, at, 30);
  if (head.length < 30 || head.readUInt32LE(0) !== localMark) return 'it is not where the directory says';
  const start = at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
  if (packed > fileBytesMax) return tooLarge;
  const bytes = await readAt(file, start, packed);
  if (bytes.length < packed) return 'it is cut off';
  try {
    const content = method === 0 ? bytes : inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
    return content.length === size && crc32(content) === crc
      ? content
      : 'it is damaged: its checksum differs';
  } catch (error) {
    return `it cannot be unpacked (${(error as Error).message})`;
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.max(0, length));
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
