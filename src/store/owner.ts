/**
 * The owner of a data folder: one process at a time, because each keeps the newest revision in memory, and two would
 * assign the same one twice.
 *
 * The claim is stored twice. The file `owner` is checked before LMDB is opened, because opening LMDB beside a process
 * that is writing can make that process lose its last commit. The same text inside LMDB is written in a transaction,
 * and decides when two processes find a dead owner's file at the same moment.
 */
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileMode } from './data-folder.ts';
import { StoreUnavailableError } from './store.ts';

/** Attempts of two processes that start together and take the file from each other. */
const ATTEMPTS_MAX = 10;

export interface Owner {
  readonly pid: number;
  /** Start time of the process, as the system reports it; empty where it does not. Distinguishes reused pids. */
  readonly started: string;
}

/** Folders in use by this process. */
const claimed = new Set<string>();

export function currentOwner(): Owner {
  return { pid: process.pid, started: startOf(process.pid) ?? '' };
}

export const formatOwner = ({ pid, started }: Owner): string => `${pid} ${started}`;

export function parseOwner(text: string): Owner | undefined {
  const [pid, started = ''] = text.trim().split(' ');
  return /^[1-9]\d*$/.test(pid ?? '') ? { pid: Number(pid), started } : undefined;
}

export const inUse = (dataDir: string, { pid }: Owner): StoreUnavailableError =>
  new StoreUnavailableError(`the data folder ${dataDir} is in use by process ${pid}`);

/** Whether the process is alive and is the owner, not a later one with the same pid. */
export function isAlive({ pid, started }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const now = startOf(pid);
  if (started === '' || now === undefined) return pid !== process.pid;
  return now === started;
}

/** The process that uses a folder; undefined when no living one does. */
export function livingOwner(dataDir: string): Owner | undefined {
  const owner = parseOwner(readText(join(dataDir, 'owner')));
  return owner && isAlive(owner) ? owner : undefined;
}

/** Claims a folder for this process, or throws. */
export function claimFolder(dataDir: string): void {
  const self = currentOwner();
  if (claimed.has(dataDir)) throw inUse(dataDir, self);
  const path = join(dataDir, 'owner');
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    try {
      writeFileSync(path, formatOwner(self), { flag: 'wx', mode: fileMode });
      claimed.add(dataDir);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = livingOwner(dataDir);
    if (owner) throw inUse(dataDir, owner);
    removeFile(path);
  }
  throw new StoreUnavailableError(`the data folder ${dataDir} is being opened by another process`);
}

export function releaseFolder(dataDir: string): void {
  if (!claimed.delete(dataDir)) return;
  removeFile(join(dataDir, 'owner'));
}

/** Start of a process in clock ticks since the system started; undefined when it is gone or the system is not Linux. */
function startOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  // The second field is the name in parentheses, with any characters; state is the third, start the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isGone = fields[0] === 'Z' || fields[0] === 'X';
  return isGone ? 'gone' : fields[19];
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
