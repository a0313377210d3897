/**
 * The layout of a version on disk. Numbers are big-endian:
 *
 *     0  checksum   4  CRC-32 of everything after it, seeded with the low half of the revision
 *     4  flags      1  DELETED, ENDS_COMMIT
 *     5  keyBytes   2
 *     7  previous   6
 *    13  timeMs     6
 *    19  key, then value to the end
 *
 * LMDB does not check what it reads; the checksum detects a damaged or misplaced value.
 * Six bytes count to 2^48: a million writes a second for nine years, or the year 10889 in milliseconds.
 */
import { crc32 } from 'node:zlib';
import { copyBytes } from '../shared-bytes.ts';
import type { Version, VersionOutline } from './engine.ts';
import { Slabs } from './slab.ts';

const CHECKSUM_END = 4;
const FLAGS = 4;
const KEY_BYTES = 5;
const PREVIOUS = 7;
const TIME = 13;
const HEADER_BYTES = 19;

const DELETED = 1;
const ENDS_COMMIT = 2;

const values = new Slabs();

/** Bytes of a record besides key and value. */
export const RECORD_OVERHEAD_BYTES = HEADER_BYTES;

/** Writes a record without its checksum; returns its end. */
export function encodeRecord(version: Version, target: Buffer, start: number): number {
  const { key, value } = version;
  const keyBytes = writeText(key, target, start + HEADER_BYTES) - start - HEADER_BYTES;
  target[start + FLAGS] = (value === null ? DELETED : 0) | (version.endsCommit ? ENDS_COMMIT : 0);
  target.writeUInt16BE(keyBytes, start + KEY_BYTES);
  writeUint48(target, version.previous, start + PREVIOUS);
  writeUint48(target, version.timeMs, start + TIME);
  let end = start + HEADER_BYTES + keyBytes;
  if (value !== null) {
    target.set(value, end);
    end += value.length;
  }
  return end;
}

/** Adds the checksum to a record. */
export function sealRecord(target: Buffer, start: number, end: number, revision: number): void {
  target.writeUInt32BE(crc32(target.subarray(start + CHECKSUM_END, end), revision >>> 0), start);
}

/** Writes text as UTF-8; returns its end. For short ASCII keys a loop is faster than a call. */
export function writeText(text: string, target: Buffer, start: number): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return start + target.write(text, start);
    target[start + i] = unit;
  }
  return start + text.length;
}

/** Whether a record is as it was written. */
const isWhole = (record: Buffer, revision: number): boolean =>
  record.length >= HEADER_BYTES &&
  crc32(record.subarray(CHECKSUM_END, record.length), revision >>> 0) === record.readUInt32BE(0);

/** Decodes what compaction needs of a record. Undefined when it is damaged. */
export function decodeOutline(record: Buffer, revision: number): VersionOutline | undefined {
  if (!isWhole(record, revision)) return undefined;
  const isDeletion = (record[FLAGS]! & DELETED) !== 0;
  const keyEnd = HEADER_BYTES + record.readUInt16BE(KEY_BYTES);
  return {
    previous: readUint48(record, PREVIOUS),
    deletedKey: isDeletion ? record.toString('utf8', HEADER_BYTES, keyEnd) : undefined,
  };
}

/** Decodes a record from memory that LMDB will reuse; the value is a copy. Undefined when it is damaged. */
export function decodeRecord(record: Buffer, revision: number): Version | undefined {
  const bytes = record.length;
  if (!isWhole(record, revision)) return undefined;
  const flags = record[FLAGS]!;
  const keyEnd = HEADER_BYTES + record.readUInt16BE(KEY_BYTES);
  let value: Buffer | null = null;
  if ((flags & DELETED) === 0) {
    // From shared memory: callers that keep values for long copy them first.
    value = values.take(bytes - keyEnd);
    copyBytes(record, value, 0, keyEnd, bytes);
  }
  return {
    key: record.toString('utf8', HEADER_BYTES, keyEnd),
    revision,
    previous: readUint48(record, PREVIOUS),
    timeMs: readUint48(record, TIME),
    value,
    endsCommit: (flags & ENDS_COMMIT) !== 0,
  };
}

export function writeUint48(target: Buffer, value: number, position: number): void {
  const high = Math.floor(value / 2 ** 32);
  target[position] = high >>> 8;
  target[position + 1] = high;
  target[position + 2] = value >>> 24;
  target[position + 3] = value >>> 16;
  target[position + 4] = value >>> 8;
  target[position + 5] = value;
}

export function readUint48(source: Buffer, position: number): number {
  return source.readUInt16BE(position) * 2 ** 32 + source.readUInt32BE(position + 2);
}
