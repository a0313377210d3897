/**
 * The write sheet: a transaction of the LMDB engine, encoded in memory that this thread fills and the writing thread
 * reads (`lmdb-writer.ts`). It is a sequence of instructions, with numbers in little-endian:
 *
 *     0  database    1  of `databases`, by its place
 *     1  action      1  PUT, APPEND or REMOVE
 *     2  keyBytes    2
 *     4  valueBytes  4
 *     8  key, then value
 *
 * Keys and values are as LMDB stores them, except for the checksums of records, which the thread that carries out the
 * sheet adds.
 *
 * The memory is reused for the next transaction instead of being allocated and cleared for each; the gain is part of
 * the thread's figure (`lmdb-writer.ts`). A sheet must not change before its transaction is carried out; with
 * `WHERRY_ASSERT=1` it is overwritten when the next begins, so a thread that still reads it fails.
 */
import { optimized, poison } from '../switches.ts';
import type { Version } from './engine.ts';
import { encodeRecord, RECORD_OVERHEAD_BYTES, writeText, writeUint48 } from './record.ts';

/** `versions`: revision → record. `index`: key → revision of its newest version. `meta`: name → value. */
export const databases = ['versions', 'index', 'meta'] as const;
const [VERSIONS, INDEX, META] = [0, 1, 2];

export const PUT = 0;
/**
 * Revisions only ascend. With APPEND, LMDB fills each page before it begins the next; otherwise half of each would
 * stay empty. In return LMDB refuses a revision that does not ascend.
 */
export const APPEND = 1;
export const REMOVE = 2;

export const HEAD_BYTES = 8;
const REVISION_KEY_BYTES = 8;
const REVISION_BYTES = 6;

/** Most UTF-8 bytes of a UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

/** Size of the reused memory. A larger transaction gets its own, once. */
export const USUAL_BYTES = 256 * 1024;

export class WriteBuffer {
  readonly #usual = sharedBuffer(USUAL_BYTES);
  #bytes = this.#usual;
  #end = 0;

  /** The instructions, which end at `end`. */
  get memory(): SharedArrayBuffer {
    return this.#bytes.buffer as unknown as SharedArrayBuffer;
  }

  get end(): number {
    return this.#end;
  }

  /** Empties the sheet. */
  clear(): void {
    poison(this.#bytes);
    this.#bytes = optimized ? this.#usual : sharedBuffer(USUAL_BYTES);
    this.#end = 0;
  }

  putVersion(version: Version, action: typeof PUT | typeof APPEND): void {
    const { key, value, revision } = version;
    const recordBytes = RECORD_OVERHEAD_BYTES + key.length * UTF8_BYTES_MAX + (value?.length ?? 0);
    const start = this.#begin(REVISION_KEY_BYTES + recordBytes);
    const valueStart = writeRevisionKey(this.#bytes, revision, start + HEAD_BYTES);
    this.#finish(start, VERSIONS, action, valueStart, encodeRecord(version, this.#bytes, valueStart));
  }

  removeVersion(revision: number): void {
    const start = this.#begin(REVISION_KEY_BYTES);
    const end = writeRevisionKey(this.#bytes, revision, start + HEAD_BYTES);
    this.#finish(start, VERSIONS, REMOVE, end, end);
  }

  putHead(key: string, revision: number): void {
    this.#putRevision(INDEX, key, revision);
  }

  removeHead(key: string): void {
    this.#removeText(INDEX, key);
  }

  putMeta(name: string, revision: number): void {
    this.#putRevision(META, name, revision);
  }

  removeMeta(name: string): void {
    this.#removeText(META, name);
  }

  #putRevision(database: number, key: string, revision: number): void {
    const start = this.#begin(key.length * UTF8_BYTES_MAX + REVISION_BYTES);
    const valueStart = writeText(key, this.#bytes, start + HEAD_BYTES);
    writeUint48(this.#bytes, revision, valueStart);
    this.#finish(start, database, PUT, valueStart, valueStart + REVISION_BYTES);
  }

  #removeText(database: number, key: string): void {
    const start = this.#begin(key.length * UTF8_BYTES_MAX);
    const end = writeText(key, this.#bytes, start + HEAD_BYTES);
    this.#finish(start, database, REMOVE, end, end);
  }

  /** Makes room for an instruction; returns where it starts. */
  #begin(bytes: number): number {
    const needed = this.#end + HEAD_BYTES + bytes;
    if (needed > this.#bytes.length) {
      const larger = sharedBuffer(needed * 2);
      this.#bytes.copy(larger, 0, 0, this.#end);
      this.#bytes = larger;
    }
    return this.#end;
  }

  #finish(start: number, database: number, action: number, valueStart: number, end: number): void {
    const bytes = this.#bytes;
    bytes[start] = database;
    bytes[start + 1] = action;
    const keyBytes = valueStart - start - HEAD_BYTES;
    bytes[start + 2] = keyBytes;
    bytes[start + 3] = keyBytes >>> 8;
    const valueBytes = end - valueStart;
    bytes[start + 4] = valueBytes;
    bytes[start + 5] = valueBytes >>> 8;
    bytes[start + 6] = valueBytes >>> 16;
    bytes[start + 7] = valueBytes >>> 24;
    this.#end = end;
  }
}

const sharedBuffer = (bytes: number): Buffer => Buffer.from(new SharedArrayBuffer(bytes));

/** Revisions as keys: eight bytes big-endian, so that they sort as numbers. */
export function writeRevisionKey(target: Buffer, revision: number, position: number): number {
  target[position] = 0;
  target[position + 1] = 0;
  writeUint48(target, revision, position + 2);
  return position + REVISION_KEY_BYTES;
}
