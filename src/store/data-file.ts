/**
 * Checks LMDB's data file before LMDB maps it.
 *
 * LMDB trusts its file: a page beyond the end crashes the process with a bus error, and a broken header can lead
 * anywhere. Header and page trees (`page-tree.ts`) are checked here, so that damage becomes a message instead of a
 * crash. That costs one read of the file, which opening it needs anyway.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { checkTrees, DamagedPages, NO_PAGE, readUint64, rootOf, TREE_BYTES, writerOf } from './page-tree.ts';
import { StoreUnavailableError } from './store.ts';

/** Offsets in a meta page, as written by LMDB on 64-bit little-endian systems. */
const META = {
  flags: 18,
  magic: 24,
  version: 28,
  free: 48,
  pageSize: 48,
  main: 96,
  lastPage: 144,
  transaction: 152,
  bytes: 168,
};
const META_PAGE_FLAG = 0x08;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;

const damaged = (path: string, why: string) =>
  new StoreUnavailableError(`the data file ${path} is damaged: ${why}`);

/** Throws when the file is not a healthy data file. Files of an unknown layout are left to LMDB. */
export function checkDataFile(path: string): void {
  if (endianness() !== 'LE' || process.arch.endsWith('32')) return;
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    checkFile(file, path);
  } catch (error) {
    throw error instanceof DamagedPages ? damaged(path, error.message) : error;
  } finally {
    closeSync(file);
  }
}

function checkFile(file: number, path: string): void {
  const { size } = fstatSync(file);
  // LMDB would treat an empty file as a new store, although there had been data.
  if (size === 0) throw damaged(path, 'it is empty; delete it to start anew');
  const pageSize = readMeta(file, path, 0).readUInt32LE(META.pageSize);
  if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0)
    throw damaged(path, `its pages cannot have ${pageSize} bytes`);
  const even = readMeta(file, path, 0);
  const odd = readMeta(file, path, pageSize);
  const meta = newest(even, odd, path);
  if (meta.readUInt32LE(META.pageSize) !== pageSize) throw damaged(path, 'its headers do not agree');
  const lastPage = readUint64(meta, META.lastPage);
  // The last pages may be free and never written, but not most of the file.
  if ((lastPage + 1) * pageSize > 2 * size + 2 ** 26)
    throw damaged(path, `it has ${size} bytes of ${(lastPage + 1) * pageSize}`);
  const main = meta.subarray(META.main, META.main + TREE_BYTES);
  const transaction = readUint64(meta, META.transaction);
  const pages = { file, size, pageSize, lastPage, transaction };
  checkTrees(pages, meta.subarray(META.free, META.free + TREE_BYTES), main);
  // Every transaction rewrites the root page, so its transaction must be the header's.
  if (rootOf(main) !== NO_PAGE && writerOf(pages, rootOf(main)) !== transaction)
    throw damaged(path, 'its header and its root are not of one transaction');
}

/** LMDB alternates between two headers and uses the newer one: if that one were damaged, LMDB would lose a commit. */
function newest(even: Buffer, odd: Buffer, path: string): Buffer {
  const first = readUint64(even, META.transaction);
  const second = readUint64(odd, META.transaction);
  const isFresh = first === 0 && second === 0;
  const inTurn = first % 2 === 0 && Math.abs(first - second) === 1;
  if (!isFresh && !inTurn) throw damaged(path, 'its headers are not of two transactions in a row');
  return first > second ? even : odd;
}

function readMeta(file: number, path: string, position: number): Buffer {
  const meta = Buffer.alloc(META.bytes);
  if (readSync(file, meta, 0, META.bytes, position) < META.bytes) throw damaged(path, 'it is too short');
  if (meta.readUInt32LE(META.magic) !== MAGIC || (meta.readUInt16LE(META.flags) & META_PAGE_FLAG) === 0) {
    throw damaged(path, 'it does not begin as a data file does');
  }
  const version = meta.readUInt32LE(META.version) & 0xffff;
  if (version !== DATA_VERSION) throw damaged(path, `its version is ${version}, not ${DATA_VERSION}`);
  return meta;
}
