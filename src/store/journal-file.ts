/**
 * The journal: a file of fixed length beside the data file, in which a small commit is durable after one write and one
 * sync. LMDB writes eight or nine pages for it, in two syncs.
 *
 * A head of one page, then two halves. While what is in one half is put into LMDB, new entries go to the other. An entry
 * begins at a page, so that no write touches a page of another entry. Numbers are big-endian:
 *
 *     head   0  magic  4     4  id  6    10  checksum  4  CRC-32 of what is before it
 *     entry  0  magic  4     4  checksum  4  CRC-32 of everything after it
 *            8  bytes  4        of the whole entry
 *           12  id     6        that of the head: what an earlier use of the file has left is no entry
 *           18  count  2
 *           20  for each version: revision 6, recordBytes 4, record (`record.ts`)
 *
 * Entries are never removed. When LMDB has their revisions, they say nothing new and are overwritten.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { fileMode } from './data-folder.ts';
import type { Version } from './engine.ts';
import {
  decodeRecord,
  encodeRecord,
  RECORD_OVERHEAD_BYTES,
  readUint48,
  sealRecord,
  writeUint48,
} from './record.ts';

const pageBytes = 4096;
const HALF_BYTES = 1024 * 1024;
const journalBytes = pageBytes + 2 * HALF_BYTES;

const headMagic = 0x57_4a_4f_31;
const entryMagic = 0x57_4a_45_31;
const [checksumAt, bytesAt, idAt, countAt] = [4, 8, 12, 18];
const entryHeadBytes = 20;
const versionHeadBytes = 10;
/** Most UTF-8 bytes of a UTF-16 unit. */
const utf8BytesMax = 3;

/** Largest number of six bytes. */
export const JOURNAL_ID_MAX = 2 ** 48 - 1;

const pages = (bytes: number): number => Math.ceil(bytes / pageBytes) * pageBytes;

/** Bytes that these versions take at most. */
export const entryBytes = (versions: readonly Version[]): number =>
  versions.reduce(
    (sum, { key, value }) =>
      sum + versionHeadBytes + RECORD_OVERHEAD_BYTES + key.length * utf8BytesMax + (value?.length ?? 0),
    entryHeadBytes,
  );

export class JournalFile {
  readonly #file: number;
  #half = 0;
  /** Where the next entry of the half begins. */
  #end = 0;
  #entry = Buffer.alloc(0);

  private constructor(
    file: number,
    private readonly id: number,
  ) {
    this.#file = file;
  }

  /** Makes the file anew, as long as it will ever be: a write into it changes no length. The caller syncs the folder. */
  static async make(path: string, id: number): Promise<JournalFile> {
    const bytes = Buffer.alloc(journalBytes);
    bytes.writeUInt32BE(headMagic, 0);
    writeUint48(bytes, id, 4);
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 10)), 10);
    const file = await open(path, 'w', fileMode);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    return new JournalFile(openSync(path, 'r+'), id);
  }

  get bytes(): number {
    return journalBytes;
  }

  /** How much of the half is used, from 0 to 1. */
  get filled(): number {
    return this.#end / HALF_BYTES;
  }

  /** Whether an entry of so many bytes fits into what is left of the half. */
  hasRoom(bytes: number): boolean {
    return this.#end + pages(bytes) <= HALF_BYTES;
  }

  /** Writes an entry, and waits for the disk. After an error it may be there or not. */
  append(versions: readonly Version[]): void {
    const bytes = this.#encode(versions);
    const whole = pages(bytes);
    // What is left in the last page of another entry is of no use, and must not be read with this one.
    this.#entry.fill(0, bytes, whole);
    const at = pageBytes + this.#half * HALF_BYTES + this.#end;
    for (let done = 0; done < whole; )
      done += writeSync(this.#file, this.#entry, done, whole - done, at + done);
    fdatasyncSync(this.#file);
    this.#end += whole;
  }

  /** Goes on in the other half, all of whose entries must be in LMDB. */
  turn(): void {
    this.#half = 1 - this.#half;
    this.#end = 0;
  }

  /** Begins the half again: all entries are in LMDB. */
  rewind(): void {
    this.#end = 0;
  }

  close(): void {
    closeSync(this.#file);
  }

  #encode(versions: readonly Version[]): number {
    const most = pages(entryBytes(versions));
    if (this.#entry.length < most) this.#entry = Buffer.alloc(most);
    const entry = this.#entry;
    let end = entryHeadBytes;
    for (const version of versions) {
      const start = end + versionHeadBytes;
      end = encodeRecord(version, entry, start);
      sealRecord(entry, start, end, version.revision);
      writeUint48(entry, version.revision, start - versionHeadBytes);
      entry.writeUInt32BE(end - start, start - 4);
    }
    entry.writeUInt32BE(entryMagic, 0);
    entry.writeUInt32BE(end, bytesAt);
    writeUint48(entry, this.id, idAt);
    entry.writeUInt16BE(versions.length, countAt);
    entry.writeUInt32BE(crc32(entry.subarray(bytesAt, end)), checksumAt);
    return end;
  }
}

/**
 * The versions in a journal, in order of their revisions. Undefined if it is missing, or has another id. An entry that is not
 * whole is left out: its commit was not answered, or the revisions have a gap, which the caller looks for. Damage to the
 * very last entry cannot be told from a write that was cut off.
 */
export function readJournal(path: string, id: number): Version[] | undefined {
  if (!existsSync(path)) return undefined;
  const bytes = readFileSync(path);
  if (bytes.length < pageBytes || bytes.readUInt32BE(0) !== headMagic || readUint48(bytes, 4) !== id)
    return undefined;
  if (crc32(bytes.subarray(0, 10)) !== bytes.readUInt32BE(10)) return undefined;
  const versions: Version[] = [];
  for (let at = pageBytes; at + entryHeadBytes <= bytes.length; ) {
    const found = readEntry(bytes.subarray(at), id);
    if (found) versions.push(...found);
    at += found ? pages(bytes.readUInt32BE(at + bytesAt)) : pageBytes;
  }
  return versions.sort((a, b) => a.revision - b.revision);
}

function readEntry(bytes: Buffer, id: number): Version[] | undefined {
  if (bytes.readUInt32BE(0) !== entryMagic || readUint48(bytes, idAt) !== id) return undefined;
  const end = bytes.readUInt32BE(bytesAt);
  if (end < entryHeadBytes || end > bytes.length) return undefined;
  if (crc32(bytes.subarray(bytesAt, end)) !== bytes.readUInt32BE(checksumAt)) return undefined;
  const versions: Version[] = [];
  let at = entryHeadBytes;
  for (let left = bytes.readUInt16BE(countAt); left > 0; left--) {
    const start = at + versionHeadBytes;
    const revision = readUint48(bytes, at);
    at = start + bytes.readUInt32BE(start - 4);
    const version = decodeRecord(bytes.subarray(start, at), revision);
    if (!version) return undefined;
    versions.push(version);
  }
  return versions;
}
