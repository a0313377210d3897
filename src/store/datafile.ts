/**
 * A look at LMDB's data file before LMDB maps it.
 *
 * LMDB trusts its file: a page beyond the end ends the process with a bus error, and a broken header can send it
 * anywhere. What can be told from the header is told here, as a sentence instead of a crash.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { StoreUnavailableError } from './store.ts';

/** Offsets in a meta page, as written by LMDB on 64-bit little-endian systems. */
const META = { flags: 18, magic: 24, version: 28, pageSize: 48, mainRoot: 136, lastPage: 144, bytes: 168 };
const META_PAGE_FLAG = 0x08;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

const damaged = (path: string, why: string) =>
  new StoreUnavailableError(`the data file ${path} is damaged: ${why}`);

/**
 * Throws when the file at the path cannot be a healthy data file. When its end is missing it is filled up with
 * zeros, and the answer says from where: harmless if the last pages were free, to be looked into if they were not.
 */
export function checkDataFile(path: string): { readonly missingFrom?: number } {
  if (endianness() !== 'LE' || process.arch.endsWith('32')) return {};
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    // LMDB would take an empty file for a new one and forget that there had been data.
    if (size === 0) throw damaged(path, 'it is empty; delete it to start anew');
    const pageSize = readMeta(file, path, 0).readUInt32LE(META.pageSize);
    if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) {
      throw damaged(path, `its pages cannot have ${pageSize} bytes`);
    }
    let bytes = 0;
    for (const position of [0, pageSize]) {
      const meta = readMeta(file, path, position);
      const lastPage = meta.readBigUInt64LE(META.lastPage);
      const root = meta.readBigUInt64LE(META.mainRoot);
      if (root !== NO_PAGE && root > lastPage) throw damaged(path, 'its root lies beyond its last page');
      bytes = Math.max(bytes, (Number(lastPage) + 1) * pageSize);
    }
    if (bytes <= size) return {};
    if (bytes > 2 * size + 2 ** 26) throw damaged(path, `it has ${size} bytes of ${bytes}`);
    // Pages of zeros are answered with an error where missing ones would end the process.
    ftruncateSync(file, bytes);
    return { missingFrom: size };
  } finally {
    closeSync(file);
  }
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
