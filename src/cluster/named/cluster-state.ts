/** The current state of a cluster: its record, as far as the system confirms it. */
import { existsSync } from 'node:fs';
import { bootId } from '../../node/process/process-table.ts';
import { isAlive, livingOwner } from '../../store/owner.ts';
import { StartError } from '../shared/start-error.ts';
import type { ClusterRecord } from './cluster-record.ts';
import { ask } from './local-request.ts';

/** How long a server may take to say that it is ready. */
const answerMaxMs = 5_000;

export interface ClusterState {
  readonly name: string;
  /** `starting`: the process is alive, and does not listen yet. `unready`: it listens, but does not say that it is ready. */
  readonly status: 'running' | 'starting' | 'unready' | 'stopped' | 'missing';
  /** Further information for people. */
  readonly notes: readonly string[];
  readonly pid: number | undefined;
  readonly record: ClusterRecord;
}

/** The process that runs a cluster; undefined when no living one does. */
export function runningProcess({ process, boot, dataDir }: ClusterRecord): number | undefined {
  if (process && isSameBoot(boot) && isAlive(process)) return process.pid;
  // Another command, such as wherry serve, may use the folder.
  return dataDir === undefined ? undefined : livingOwner(dataDir)?.pid;
}

/** The refusal of what only a running cluster can do. */
export const notRunning = ({ name }: ClusterRecord): StartError =>
  new StartError(`${name} does not run; wherry restart ${name} starts it`);

const isSameBoot = (boot: string | undefined): boolean => !boot || boot === bootId();

/** @param version of this command */
export async function stateOf(record: ClusterRecord, version: string): Promise<ClusterState> {
  const { name, dataDir, inMemory } = record;
  const pid = runningProcess(record);
  const base = { name, pid, record };
  if (pid === undefined) {
    if (dataDir !== undefined && !inMemory && !existsSync(dataDir))
      return { ...base, status: 'missing', notes: [`its data folder ${dataDir} is not there any more`] };
    return { ...base, status: 'stopped', notes: endNotes(record) };
  }
  const notes = versionNotes(record, version);
  if (pid !== record.process?.pid)
    return {
      ...base,
      status: 'running',
      notes: [`process ${pid} uses its data folder, which was not started as this cluster`],
    };
  if (record.url === undefined)
    return { ...base, status: 'starting', notes: ['it does not listen yet', ...notes] };
  const problem = await readiness(record.url);
  if (problem === undefined) return { ...base, status: 'running', notes };
  return { ...base, status: 'unready', notes: [problem, ...notes] };
}

function endNotes({ name, process, boot, log, failure }: ClusterRecord): string[] {
  if (failure !== undefined) return [`it could not go on: ${failure}`];
  if (!process) return [];
  const why = isSameBoot(boot)
    ? `process ${process.pid} ended without being stopped`
    : 'the machine was started anew while it ran';
  return [log !== undefined && existsSync(log) ? `${why}; see wherry logs ${name}` : why];
}

function versionNotes({ name, version: running }: ClusterRecord, version: string): string[] {
  if (running === undefined || running === version) return [];
  return [`it runs version ${running}, and this is ${version}: wherry restart ${name} brings it up to date`];
}

/** Why a server is not ready; undefined when it is. */
async function readiness(url: string): Promise<string | undefined> {
  try {
    const { status, text } = await ask(new URL('/readyz?verbose', url), { maxMs: answerMaxMs });
    // A server that asks who its users are has refused to say more, but it answers.
    if (status === 200 || status === 401 || status === 403) return undefined;
    const failed = [...text.matchAll(/^\[-\](\S+)/gm)].map(([, check]) => check);
    return failed.length ? `it is not ready: ${failed.join(', ')}` : `it is not ready (${status})`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `it does not answer at ${url} (${code ?? message})`;
  }
}
