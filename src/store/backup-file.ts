/**
 * The backup file: all stored keys at one revision, in key order. Numbers are big-endian:
 *
 *     magic      16   `wherry backup 2` and a line feed; the number is the format (`format.ts`)
 *     revision    6   the revision it shows
 *
 *     length      4   for each key: length of the record,
 *     revision    6   the revision that wrote it,
 *     record          as in the data file (`record.ts`), with a checksum of its own
 *
 *     length      4   0: the end
 *     objects     6   how many there were
 *     digest     32   SHA-256 of everything before
 *
 * It is written and read as a stream. A file with any other content, down to the last byte, is refused.
 */
import { createHash } from 'node:crypto';
import { KEY_BYTES_MAX, VALUE_BYTES_MAX, type Version } from './engine.ts';
import { FORMAT, readableFormats, type Upgrade } from './format.ts';
import {
  decodeRecord,
  encodeRecord,
  RECORD_OVERHEAD_BYTES,
  readUint48,
  sealRecord,
  writeUint48,
} from './record.ts';
import { compareKeys } from './sorted-map.ts';
import { type Stored, StoreUnavailableError } from './store.ts';

const magicOf = (format: number): Buffer => Buffer.from(`wherry backup ${format}\n`);
const MAGIC = magicOf(FORMAT);
const FRAME_BYTES = 10;
const DIGEST_BYTES = 32;
/** A record is a key, a value and a header of a few bytes. */
const RECORD_BYTES_MAX = KEY_BYTES_MAX + VALUE_BYTES_MAX + 64;
/** Records are passed on in batches of about this many bytes. */
const BATCH_BYTES = 4 * 1024 * 1024;

export interface BackupSummary {
  readonly revision: number;
  readonly objects: number;
}

/** The header of a backup. */
export interface BackupHead {
  readonly format: number;
  readonly revision: number;
}

/** The bytes of a backup, from pages of all keys in order. */
export async function* writeBackup(
  revision: number,
  pages: AsyncIterable<readonly Stored[]>,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash('sha256');
  let objects = 0;
  const head = Buffer.alloc(MAGIC.length + 6);
  MAGIC.copy(head);
  writeUint48(head, revision, MAGIC.length);
  hash.update(head);
  yield head;
  for await (const page of pages) {
    if (page.length === 0) continue;
    objects += page.length;
    const chunk = encodeFrames(page);
    hash.update(chunk);
    yield chunk;
  }
  const end = Buffer.alloc(FRAME_BYTES);
  writeUint48(end, objects, 4);
  yield Buffer.concat([end, hash.update(end).digest()]);
}

function encodeFrames(page: readonly Stored[]): Buffer {
  let bytes = 0;
  for (const { key, value } of page)
    bytes += FRAME_BYTES + RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + value.length;
  const frames = Buffer.allocUnsafe(bytes);
  let end = 0;
  for (const stored of page) {
    const start = end;
    end = encodeRecord({ ...stored, previous: 0, timeMs: 0, endsCommit: true }, frames, start + FRAME_BYTES);
    sealRecord(frames, start + FRAME_BYTES, end, stored.revision);
    frames.writeUInt32BE(end - start - FRAME_BYTES, start);
    writeUint48(frames, stored.revision, start + 4);
  }
  return frames;
}

/**
 * Reads a backup to its end and passes on its records in batches, with the keys of its format. They may be used only
 * after this has resolved, because the digest is checked last. `name` is the file's name in errors; a former format
 * is read only with an `upgrade`.
 */
export async function readBackup(
  name: string,
  chunks: AsyncIterable<Buffer>,
  take: (versions: readonly Version[], head: BackupHead) => void | Promise<void>,
  upgrade?: Upgrade,
): Promise<BackupSummary> {
  const damaged = (why: string) => new StoreUnavailableError(`the backup ${name} is damaged: ${why}`);
  const hash = createHash('sha256');
  const source = new Pieces(chunks, hash, () => damaged('it ends too early'));
  const refuse = (magic: Buffer) => notReadable(name, magic, upgrade);
  const magic = await source.next(MAGIC.length, () => refuse(Buffer.alloc(0)));
  const format = [FORMAT, ...(upgrade ? [upgrade.from] : [])].find((known) => magic.equals(magicOf(known)));
  if (format === undefined) throw refuse(magic);
  const revision = readUint48(await source.next(6), 0);
  let batch: Version[] = [];
  let bytes = 0;
  let objects = 0;
  let last: string | undefined;
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await take(batch, { format, revision });
    batch = [];
    bytes = 0;
  };
  for (;;) {
    const frame = await source.next(FRAME_BYTES);
    const length = frame.readUInt32BE(0);
    if (length === 0) {
      const digest = hash.copy().digest();
      if (readUint48(frame, 4) !== objects)
        throw damaged(`it has ${objects} objects of ${readUint48(frame, 4)}`);
      if (!(await source.next(DIGEST_BYTES)).equals(digest)) throw damaged('it does not match its checksum');
      if (!(await source.ended())) throw damaged('something follows its end');
      await flush();
      return { revision, objects };
    }
    if (length > RECORD_BYTES_MAX) throw damaged(`object ${objects + 1} would have ${length} bytes`);
    const at = readUint48(frame, 4);
    const version = decodeRecord(await source.next(length), at);
    if (!version || version.value === null || at === 0 || at > revision)
      throw damaged(`object ${objects + 1} does not match its checksum`);
    if (last !== undefined && compareKeys(last, version.key) >= 0)
      throw damaged(`object ${objects + 1} is not in order`);
    last = version.key;
    objects++;
    batch.push(version);
    bytes += length;
    if (bytes >= BATCH_BYTES) await flush();
  }
}

function notReadable(name: string, magic: Buffer, upgrade: Upgrade | undefined): StoreUnavailableError {
  const other = /^wherry backup (\S+)/.exec(magic.toString('latin1'));
  return new StoreUnavailableError(
    other
      ? `the backup ${name} has format ${other[1]}, and this version of Wherry reads ${readableFormats(upgrade)}`
      : `${name} is not a backup of Wherry`,
  );
}

/** Reads a stream in pieces of requested sizes, and hashes all of them. */
class Pieces {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(
    chunks: AsyncIterable<Buffer>,
    private readonly hash: { update(bytes: Buffer): unknown },
    private readonly tooShort: () => Error,
  ) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async next(bytes: number, tooShort = this.tooShort): Promise<Buffer> {
    const parts: Buffer[] = [];
    let missing = bytes;
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) throw tooShort();
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    const piece = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    this.hash.update(piece);
    return piece;
  }

  async ended(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  /** Reads the next chunk of the stream; false at the end. */
  async #more(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (done) return false;
      this.#rest = value;
      if (value.length > 0) return true;
    }
  }
}
