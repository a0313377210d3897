/**
 * How a version lies on disk. Numbers are big-endian:
 *
 *     0  checksum   4  CRC-32 of everything after it, begun with the low half of the revision
 *     4  flags      1  DELETED, ENDS_COMMIT
 *     5  keyBytes   2
 *     7  previous   6
 *    13  timeMs     6
 *    19  key, then value to the end
 *
 * LMDB does not check what it reads; the checksum tells a damaged value, or one in the wrong place, from a good
 * one. Six bytes count to 2^48: a million writes a second for nine years, or the year 10889 in milliseconds.
 */
import { crc32 } from 'node:zlib';
import type { Version } from './engine.ts';

const CHECKSUM_END = 4;
const FLAGS = 4;
const KEY_BYTES = 5;
const PREVIOUS = 7;
const TIME = 13;
const HEADER_BYTES = 19;

/** Most bytes of UTF-8 for a unit of a string. */
const UTF8_BYTES_MAX = 3;

const DELETED = 1;
const ENDS_COMMIT = 2;

/** Encodes versions into one piece of memory, `room` if it is large enough: for a batch, LMDB then has one address. */
export function encodeRecords(versions: readonly Version[], room?: Buffer): Buffer[] {
  let bytes = 0;
  for (const { key, value } of versions)
    bytes += HEADER_BYTES + key.length * UTF8_BYTES_MAX + (value?.length ?? 0);
  const slab = room && room.length >= bytes ? room : Buffer.allocUnsafeSlow(bytes);
  let start = 0;
  return versions.map((version) => {
    const end = encodeRecord(version, slab, start);
    const record = slab.subarray(start, end);
    start = end;
    return record;
  });
}

function encodeRecord(version: Version, target: Buffer, start: number): number {
  const { key, value, revision } = version;
  const keyBytes = target.write(key, start + HEADER_BYTES);
  target[start + FLAGS] = (value === null ? DELETED : 0) | (version.endsCommit ? ENDS_COMMIT : 0);
  target.writeUInt16BE(keyBytes, start + KEY_BYTES);
  writeUint48(target, version.previous, start + PREVIOUS);
  writeUint48(target, version.timeMs, start + TIME);
  let end = start + HEADER_BYTES + keyBytes;
  if (value !== null) end += value.copy(target, end);
  target.writeUInt32BE(crc32(target.subarray(start + CHECKSUM_END, end), revision >>> 0), start);
  return end;
}

/** Decodes a record out of memory that LMDB will use again; the value is a copy. Undefined when it is damaged. */
export function decodeRecord(record: Buffer, revision: number): Version | undefined {
  const bytes = record.length;
  if (bytes < HEADER_BYTES) return undefined;
  if (crc32(record.subarray(CHECKSUM_END, bytes), revision >>> 0) !== record.readUInt32BE(0))
    return undefined;
  const flags = record[FLAGS]!;
  const keyEnd = HEADER_BYTES + record.readUInt16BE(KEY_BYTES);
  let value: Buffer | null = null;
  if ((flags & DELETED) === 0) {
    // From the shared pool: whoever keeps values for long makes something else of them first.
    value = Buffer.allocUnsafe(bytes - keyEnd);
    record.copy(value, 0, keyEnd, bytes);
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
  target.writeUInt16BE(Math.floor(value / 2 ** 32), position);
  target.writeUInt32BE(value >>> 0, position + 2);
}

export function readUint48(source: Buffer, position: number): number {
  return source.readUInt16BE(position) * 2 ** 32 + source.readUInt32BE(position + 2);
}
