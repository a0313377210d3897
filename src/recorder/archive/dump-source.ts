/** What a user names as a dump: folders, archives and files, told apart by what is in them. */
import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip, gunzipSync } from 'node:zlib';
import { DumpBoundError, type DumpFile, type DumpReading, fileBytesMax, tooLarge } from './dump-file.ts';
import { isTar, readTar } from './tar.ts';
import { isZip, readZip } from './zip.ts';

/** Folders inside folders. */
const depthMax = 64;
/** Enough to tell what a file is. */
const headBytes = 512;

/** Every file of a dump. What cannot be read is noted in `reading`; throws when the path itself cannot be opened. */
export async function* dumpFiles(given: string, reading: DumpReading): AsyncGenerator<DumpFile> {
  const name = path.basename(path.resolve(given));
  const { isFolder, size } = await stat(given).then((found) => ({
    isFolder: found.isDirectory(),
    size: found.size,
  }));
  try {
    const files = isFolder ? folderFiles(given, name, reading, 0) : fileOrArchive(given, name, size, reading);
    for await (const file of files) yield* plainOrPacked(file, reading);
  } catch (error) {
    if (!(error instanceof DumpBoundError)) throw error;
    reading.problem(name, `${error.message}; the rest of it was not read`);
  }
}

/** In the order of names. Links are not followed: they may lead anywhere. */
async function* folderFiles(
  folder: string,
  shown: string,
  reading: DumpReading,
  depth: number,
): AsyncGenerator<DumpFile> {
  if (depth > depthMax) return reading.problem(shown, `it is more than ${depthMax} folders deep`);
  const names = await readdir(folder).catch((error: Error) => {
    reading.problem(shown, reasonOf(error));
    return [];
  });
  for (const name of names.sort()) {
    const [file, path] = [`${folder}/${name}`, `${shown}/${name}`];
    try {
      const found = await lstat(file);
      if (found.isDirectory()) yield* folderFiles(file, path, reading, depth + 1);
      else if (!found.isFile()) reading.problem(path, 'it is a link or a device');
      else if (reading.admits(path, found.size)) {
        const bytes = await readFile(file);
        reading.bytesRead += bytes.length;
        reading.unpacked(bytes.length, { total: 0 }, bytes.length);
        yield { path, bytes };
      }
    } catch (error) {
      if (error instanceof DumpBoundError) throw error;
      reading.problem(path, reasonOf(error as Error));
    }
  }
}

async function* fileOrArchive(
  file: string,
  name: string,
  size: number,
  reading: DumpReading,
): AsyncGenerator<DumpFile> {
  const handle = await open(file);
  try {
    const head = await headOf(handle);
    if (isZip(head)) yield* readZip(name, handle, size, reading);
    else if (isTar(head)) yield* readTar(name, counted(createReadStream(file), reading), reading);
    else if (isGzip(head)) yield* gzipFiles(file, name, reading);
    else if (reading.admits(name, size)) {
      const bytes = await handle.readFile();
      reading.bytesRead += bytes.length;
      reading.unpacked(bytes.length, { total: 0 }, bytes.length);
      yield { path: name, bytes };
    }
  } finally {
    await handle.close();
  }
}

const isGzip = (head: Buffer): boolean => head[0] === 0x1f && head[1] === 0x8b;

async function headOf(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** A tar archive, or a single file. */
async function* gzipFiles(file: string, name: string, reading: DumpReading): AsyncGenerator<DumpFile> {
  const packed = createReadStream(file);
  const unpacking = packed.pipe(createGunzip());
  packed.on('error', (error) => unpacking.destroy(error));
  const chunks = unpackedChunks(unpacking, () => packed.bytesRead, reading);
  try {
    const first = await chunks.next();
    const head = first.done ? Buffer.alloc(0) : first.value;
    const all = joined(head, chunks);
    if (isTar(head)) yield* readTar(name, all, reading);
    else if (reading.admits(name, 0)) {
      const parts: Buffer[] = [];
      let length = 0;
      for await (const part of all) {
        length += part.length;
        if (length > fileBytesMax) return reading.problem(name, tooLarge);
        parts.push(part);
      }
      yield { path: name.replace(/\.gz$/, ''), bytes: Buffer.concat(parts) };
    }
  } catch (error) {
    if (error instanceof DumpBoundError) throw error;
    reading.problem(name, reasonOf(error as Error));
  } finally {
    packed.destroy();
    unpacking.destroy();
  }
}

async function* unpackedChunks(
  stream: AsyncIterable<Buffer>,
  packedBytes: () => number,
  reading: DumpReading,
): AsyncGenerator<Buffer> {
  const total = { total: 0 };
  let before = 0;
  for await (const chunk of stream) {
    const packed = packedBytes();
    reading.bytesRead += packed - before;
    before = packed;
    reading.unpacked(chunk.length, total, packed);
    yield chunk;
  }
}

async function* counted(stream: AsyncIterable<Buffer>, reading: DumpReading): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    reading.bytesRead += chunk.length;
    reading.unpacked(chunk.length, { total: 0 }, chunk.length);
    yield chunk;
  }
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** A file of a dump, unpacked if it is a single one. Archives inside a dump are named. */
function* plainOrPacked(file: DumpFile, reading: DumpReading): Generator<DumpFile> {
  const { path, bytes } = file;
  const nested = 'it is an archive inside the dump: open it on its own';
  if (isZip(bytes) || isTar(bytes)) return reading.problem(path, nested);
  if (!isGzip(bytes)) return yield file;
  try {
    const content = gunzipSync(bytes, { maxOutputLength: fileBytesMax });
    reading.unpacked(content.length, { total: 0 }, bytes.length);
    if (isTar(content)) return reading.problem(path, nested);
    yield { path: path.replace(/\.gz$/, ''), bytes: content };
  } catch (error) {
    if (error instanceof DumpBoundError) throw error;
    const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    reading.problem(path, isLarge ? tooLarge : reasonOf(error as Error));
    // It was unpacked so far: many such files would take days.
    if (isLarge) reading.unpacked(fileBytesMax, { total: 0 }, bytes.length);
  }
}

function reasonOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return 'it is cut off';
  return `it cannot be read (${code ?? message})`;
}
