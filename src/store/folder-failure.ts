/** Errors of a data folder, as one sentence for the operator. */
import { statfsSync } from 'node:fs';
import { StoreUnavailableError } from './store.ts';

/** A disk with less free space than this, in bytes, is full: one write may need more. */
const FULL_BYTES = 8 * 1024 * 1024;

export const damaged = (folder: string, why: string): StoreUnavailableError =>
  new StoreUnavailableError(`the data file in ${folder} is damaged: ${why}`, { permanent: true });

export const notOurs = (folder: string): StoreUnavailableError =>
  new StoreUnavailableError(`the data file in ${folder} was not written by Wherry`);

/** LMDB reports a partial write as an input/output error. */
function isFull(folder: string, { code, message }: NodeJS.ErrnoException): boolean {
  if (code === 'ENOSPC' || code === 'EDQUOT' || /no space left|quota exceeded/i.test(message)) return true;
  if (!/input\/output error/i.test(message)) return false;
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < FULL_BYTES;
  } catch {
    return false;
  }
}

/** One sentence for the operator, from any error. */
export function unavailable(folder: string, error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  const { code, message = String(error) } = error as NodeJS.ErrnoException;
  const sentence = (): string => {
    if (code === 'EEXIST' || code === 'ENOTDIR') return `${folder} is not a folder`;
    if (code === 'EMFILE' || code === 'ENFILE')
      return `the data folder ${folder} cannot be used: too many files are open (${code}); see ulimit -n`;
    if (isFull(folder, error as NodeJS.ErrnoException))
      return `the disk of the data folder ${folder} is full`;
    if (code === 'ENOENT') return `the data folder ${folder} cannot be made (${code})`;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
      return `the data folder ${folder} cannot be read and written (${code})`;
    }
    if (/MDB_(INVALID|CORRUPTED|PAGE_NOTFOUND|VERSION_MISMATCH|PANIC|BAD_TXN)/.test(message)) {
      return `the data file in ${folder} is damaged: ${message}`;
    }
    return `the data folder ${folder} cannot be used: ${message}`;
  };
  return new StoreUnavailableError(sentence(), { cause: error });
}
