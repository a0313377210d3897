/**
 * Carries out a transaction that is encoded on a sheet (`write-buffer.ts`): all of it, durably, or nothing of it. Used
 * by the main thread and by the writing thread (`lmdb-thread.ts`).
 */
import { statfsSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { RootDatabase } from 'lmdb';
import { poison } from '../switches.ts';
import { APPEND, databases, HEAD_BYTES, REMOVE, USUAL_BYTES } from './write-buffer.ts';

/** Beyond twice what is on a sheet: pages of the trees above the records. */
const spareBytes = 256 * 1024;

/** Why a transaction was not carried out. `refused`: LMDB's content is not as expected. */
export interface WriteFailure {
  readonly message: string;
  readonly code: unknown;
  readonly refused: boolean;
}

/** LMDB's types do not show that `putSync` returns whether the value was stored. */
interface Puts {
  putSync(key: Buffer, value: Buffer, options: { append: boolean }): boolean;
  removeSync(key: Buffer): boolean;
}

/** Carries out the instructions in `memory` up to `end`; returns the error, if any. */
export type CarryOut = (memory: SharedArrayBuffer, end: number) => WriteFailure | undefined;

/** @param file where the data are */
export function carryingOut(root: RootDatabase, file: string): CarryOut {
  const opened = databases.map((name) =>
    root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }),
  ) as unknown as Puts[];
  const versions = opened[0];
  // LMDB crashes the process on values in shared memory, so sheets are copied to this buffer.
  const usual = Buffer.allocUnsafeSlow(USUAL_BYTES);
  let refused = false;
  return (memory, end) => {
    if (!hasRoom(file, end)) return { message: 'No space left on device', code: 'ENOSPC', refused: false };
    const own = end <= usual.length ? usual : Buffer.allocUnsafeSlow(end);
    Buffer.from(memory).copy(own, 0, 0, end);
    try {
      refused = false;
      root.transactionSync(() => {
        for (let at = 0; at < end; ) {
          const database = opened[own[at]!]!;
          const action = own[at + 1];
          const keyStart = at + HEAD_BYTES;
          const valueStart = keyStart + own.readUInt16LE(at + 2);
          at = valueStart + own.readUInt32LE(at + 4);
          const key = own.subarray(keyStart, valueStart);
          // A record begins with its checksum, which begins with the low half of its revision, the end of the key.
          if (database === versions && action !== REMOVE)
            own.writeUInt32BE(
              crc32(own.subarray(valueStart + 4, at), own.readUInt32BE(valueStart - 4)),
              valueStart,
            );
          if (action === REMOVE) database.removeSync(key);
          else if (!database.putSync(key, own.subarray(valueStart, at), { append: action === APPEND })) {
            refused = true;
            throw new Error('it did not take a record');
          }
        }
      });
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      return { message, code, refused };
    } finally {
      poison(own);
    }
    return undefined;
  };
}

/**
 * Whether there is space for a sheet. If not, LMDB is not asked: when a write fails, lmdb-js 3.5.6 prints a message of
 * more bytes than it has for it, and the process is aborted some writes later.
 */
export function hasRoom(file: string, sheetBytes: number): boolean {
  try {
    const { bavail, bsize } = statfsSync(file);
    return bavail * bsize >= 2 * sheetBytes + spareBytes;
  } catch {
    return true;
  }
}
