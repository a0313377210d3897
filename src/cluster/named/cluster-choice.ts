/**
 * Finds the cluster that a command means: by a name, by a data folder, by a folder `.wherry` where the command is run,
 * else `default`.
 */
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { isClusterName, nameRule } from '../options/named.ts';
import { StartError } from '../shared/start-error.ts';
import { allRecords, type ClusterRecord, isInMemory, readRecord, recordFolder } from './cluster-record.ts';
import { notRunning, runningProcess } from './cluster-state.ts';

const usualName = 'default';
const localFolder = '.wherry';
const nameCharsMax = 40;

export interface Asked {
  readonly name: string | undefined;
  readonly dataDir: string | undefined;
}

export interface Choice {
  readonly name: string;
  /** Its data folder, which may not exist yet. */
  readonly dataDir: string;
  /** Whether it is the folder `.wherry` in the current one, as before clusters had names. */
  readonly isLocal: boolean;
  readonly record: ClusterRecord | undefined;
}

export function chooseCluster({ name, dataDir }: Asked): Choice {
  if (dataDir !== undefined) return { ...inFolder(path.resolve(dataDir), name), isLocal: false };
  if (name === undefined && existsSync(localFolder)) {
    const found = inFolder(path.resolve(localFolder), undefined);
    return { ...found, isLocal: true };
  }
  const chosen = name ?? usualName;
  const record = readRecord(chosen);
  return { name: chosen, dataDir: record?.dataDir ?? recordFolder(chosen), isLocal: false, record };
}

function inFolder(dataDir: string, name: string | undefined): Omit<Choice, 'isLocal'> {
  const known = recordIn(dataDir);
  if (name === undefined || name === known?.name) {
    if (known) return { name: known.name, dataDir, record: known };
    return { name: freeName(dataDir), dataDir, record: undefined };
  }
  if (known)
    throw new StartError(`${dataDir} is the data folder of the cluster ${known.name}, not of ${name}`);
  const record = readRecord(name);
  if (record?.dataDir !== undefined && existsSync(record.dataDir))
    throw new StartError(`the data folder of the cluster ${name} is ${record.dataDir}, not ${dataDir}`);
  return { name, dataDir, record };
}

function isSame(one: string, other: string): boolean {
  const real = (folder: string): string => {
    try {
      return realpathSync(folder);
    } catch {
      return folder;
    }
  };
  return real(one) === real(other);
}

/** A name for a folder: its own, or that of its parent, with a number if another cluster has it. */
function freeName(dataDir: string): string {
  const folder = path.basename(dataDir) === localFolder ? path.dirname(dataDir) : dataDir;
  const plain =
    path
      .basename(folder)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, nameCharsMax - 5)
      .replace(/^-+|-+$/g, '') || 'cluster';
  const base = plain === usualName ? 'cluster' : plain;
  for (let i = 1; ; i++) {
    const name = i === 1 ? base : `${base}-${i}`;
    if (!readRecord(name)) return name;
  }
}

/** The cluster that a command names, which must exist. */
export function knownCluster(name: string | undefined): ClusterRecord {
  if (name !== undefined && !isClusterName(name))
    throw new StartError(`the name of a cluster is ${nameRule}, not ${JSON.stringify(name)}`);
  const { record, name: chosen } = chooseCluster({ name, dataDir: undefined });
  if (record) return record;
  const names = allRecords().map((one) => one.name);
  const there = names.length ? `there are ${names.join(', ')}` : 'wherry up -d starts one';
  throw new StartError(`there is no cluster ${chosen}; ${there}`);
}

/** Throws a `StartError` when the cluster with this data folder does not run. */
export function refuseStopped(dataDir: string): void {
  const known = recordIn(path.resolve(dataDir));
  if (known && runningProcess(known) === undefined) throw notRunning(known);
}

/** The name and identity of the cluster with this data folder; undefined when it has no name. */
export function namedIn(dataDir: string): { name: string; identity: string } | undefined {
  const known = recordIn(path.resolve(dataDir));
  return known && { name: known.name, identity: recordFolder(known.name) };
}

const recordIn = (dataDir: string): ClusterRecord | undefined =>
  allRecords().find((record) => record.dataDir !== undefined && isSame(record.dataDir, dataDir));

const contextText = ({ context }: ClusterRecord): string =>
  context ? `; kubectl reaches it by the context ${context.name}` : '';

/** @param refusesMemory whether a cluster in memory is refused with a `StartError`, because what is asked for is in its folder */
export function dataFolderOf({ name, dataDir }: Asked, refusesMemory: boolean): string {
  if (dataDir !== undefined) return dataDir;
  if (name === undefined && existsSync(localFolder)) return localFolder;
  const found = readRecord(name ?? usualName);
  if (found && refusesMemory && isInMemory(found))
    throw new StartError(
      `the cluster ${found.name} has no data folder, because its objects are in memory${contextText(found)}`,
    );
  if (found?.dataDir !== undefined) return found.dataDir;
  return name === undefined ? localFolder : recordFolder(name);
}
