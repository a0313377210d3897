/**
 * The record of a named cluster: a file in the user's data folder, with its data folder, the process that runs it, and
 * the ports and ranges chosen for it. The file stays when the cluster stops, so that it gets the same ports and ranges
 * again.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { writePrivately } from '../../pki/pki-folder.ts';
import { claimFolder, type Owner, releaseFolder } from '../../store/owner.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import { isClusterName } from '../options/named.ts';
import { StartError } from '../shared/start-error.ts';
import { dataHome } from './data-home.ts';

const fileName = 'cluster.json';
const logName = 'wherry.log';
/** Maximum number of records that are read. */
const recordsMax = 1_000;
const fileBytesMax = 1024 * 1024;
/** How long a start waits while another one chooses its ports. */
const lockMaxMs = 20_000;
const lockLookMs = 20;

export interface ClusterRecord {
  readonly name: string;
  /** The data folder, as an absolute path; absent when objects were always in memory. */
  readonly dataDir?: string;
  /** Whether objects of the last start are in memory; those in the data folder are of an earlier one. */
  readonly inMemory?: boolean;
  /** The process that runs it; absent when it was stopped. */
  readonly process?: Owner;
  /** The id of the system boot during which the process was started; empty where it is not known. */
  readonly boot?: string;
  /** When it was last started, in ISO 8601. */
  readonly startedAt?: string;
  /** The version of Wherry that was last started. */
  readonly version?: string;
  /** Where it answers, or has answered. */
  readonly url?: string;
  readonly secureUrl?: string;
  /** The ports and ranges chosen for it, which the next start uses again. */
  readonly port?: number;
  readonly securePort?: number;
  readonly serviceRange?: string;
  readonly podRange?: string;
  /** The options it was started with, and where, for a restart. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Where it logs when it runs in the background. */
  readonly log?: string;
  /** Why it ended, when it could not go on. */
  readonly failure?: string;
  /** The context in the user's kubeconfig. */
  readonly context?: { readonly name: string; readonly file: string };
}

/** Records of older versions do not say so, but have no data folder. */
export const isInMemory = ({ inMemory, dataDir }: ClusterRecord): boolean =>
  inMemory || dataDir === undefined;

export const recordFolder = (name: string): string => path.join(dataHome(), name);
export const logFile = (name: string): string => path.join(recordFolder(name), logName);

/** Reads a record; undefined when it does not exist or cannot be read. */
export function readRecord(name: string): ClusterRecord | undefined {
  try {
    const text = readFileSync(path.join(recordFolder(name), fileName), 'utf8');
    if (text.length > fileBytesMax) return undefined;
    const record = JSON.parse(text) as ClusterRecord;
    return typeof record === 'object' && record !== null ? { ...record, name } : undefined;
  } catch {
    return undefined;
  }
}

export function writeRecord(record: ClusterRecord): void {
  const folder = recordFolder(record.name);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writePrivately(path.join(folder, fileName), `${JSON.stringify(record, null, 2)}\n`);
  } catch (error) {
    throw folderFailure(folder, error);
  }
}

/** One sentence for the user whose folder cannot be made or written. */
export function folderFailure(folder: string, error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof StoreUnavailableError) return error as Error;
  const what =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? `the disk of the folder ${folder} is full`
      : `the folder ${folder} cannot be made or written (${code})`;
  return new StartError(what, { cause: error });
}

/** Removes the record of a cluster, and its log; folders only if they are empty then. */
export function removeRecord(name: string): void {
  const folder = recordFolder(name);
  for (const file of [fileName, logName, `${logName}.1`]) rmSync(path.join(folder, file), { force: true });
  removeEmpty(folder);
  removeEmpty(dataHome());
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder is not empty, or does not exist.
  }
}

/** All clusters of the user, by name. */
export function allRecords(): ClusterRecord[] {
  let names: string[];
  try {
    names = readdirSync(dataHome()).filter(isClusterName).sort().slice(0, recordsMax);
  } catch {
    return [];
  }
  return names.flatMap((name) => readRecord(name) ?? []);
}

/** Runs work exclusively among all processes of this user that manage clusters. */
export async function locked<T>(work: () => T | Promise<T>): Promise<T> {
  const home = dataHome();
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderFailure(home, error);
  }
  for (let waitedMs = 0; ; waitedMs += lockLookMs) {
    try {
      claimFolder(home);
      break;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || waitedMs >= lockMaxMs)
        throw folderFailure(home, error);
    }
    await setTimeout(lockLookMs);
  }
  try {
    return await work();
  } finally {
    releaseFolder(home);
    removeEmpty(home);
  }
}
