/** `wherry snapshot`: saves the objects of a running cluster, and returns to them. */
import { administeredCluster } from '../cluster/access/bootstrap-tokens.ts';
import { StartError } from '../cluster/index.ts';
import { knownCluster } from '../cluster/named/cluster-choice.ts';
import type { ClusterRecord } from '../cluster/named/cluster-record.ts';
import { notRunning, runningProcess } from '../cluster/named/cluster-state.ts';
import { ask } from '../cluster/named/local-request.ts';
import { table } from './terminal.ts';

/** How long the server may take; a large snapshot is read from a slow disk. */
const answerMaxMs = 10 * 60_000;

export interface SnapshotLine {
  readonly command: 'snapshot';
  readonly action: 'save' | 'load' | 'list' | 'delete';
  /** The cluster. Default: the one that all commands mean. */
  readonly name: string | undefined;
  /** The snapshot; empty for `list`. */
  readonly snapshot: string;
  readonly replaces: boolean;
  readonly json: boolean;
}

interface Snapshot {
  readonly name: string;
  readonly savedAt: string;
  readonly objects: number;
  readonly bytes: number;
  readonly changed?: number;
}

/** What is to be printed. */
export async function runSnapshot(line: SnapshotLine): Promise<string> {
  const { action, snapshot, replaces, json } = line;
  const record = knownCluster(line.name);
  const path = `/wherry/snapshots${snapshot && `/${encodeURIComponent(snapshot)}`}`;
  const answer = await asked(
    record,
    { save: 'PUT', load: 'POST', list: 'GET', delete: 'DELETE' }[action],
    `${path}${action === 'load' ? '/load' : ''}${replaces ? '?replace=true' : ''}`,
    {
      404: `${record.name} has no snapshot ${snapshot}; wherry snapshot list --name ${record.name} shows those there are`,
      409: `${record.name} has a snapshot ${snapshot} already; --replace saves over it`,
    },
  );
  if (json) return `${JSON.stringify(answer, null, 2)}\n`;
  if (action === 'list') return listed((answer as { items: readonly Snapshot[] }).items, record.name);
  const { name, objects, changed } = answer as Snapshot;
  if (action === 'save') return `Saved ${objects} objects of ${record.name} as ${name}\n`;
  if (action === 'delete') return `Deleted the snapshot ${name} of ${record.name}\n`;
  return `${record.name} is as in ${name} again: ${changed} of ${objects} objects had changed\n`;
}

function listed(items: readonly Snapshot[], cluster: string): string {
  if (!items.length) return `${cluster} has no snapshots; wherry snapshot save NAME makes one\n`;
  const rows = items.map(({ name, savedAt, objects, bytes }) => [
    name,
    savedAt,
    String(objects),
    `${Math.ceil(bytes / 1024)} kB`,
  ]);
  return table([['NAME', 'SAVED', 'OBJECTS', 'SIZE'], ...rows]);
}

/** @param refusals sentences for some of the statuses */
async function asked(
  record: ClusterRecord,
  method: string,
  path: string,
  refusals: Readonly<Record<number, string>>,
): Promise<unknown> {
  const { name, url, dataDir } = record;
  if (runningProcess(record) === undefined || url === undefined) throw notRunning(record);
  // Without the local door, as the administrator whom the data folder knows.
  const trust = url.startsWith('https:') && dataDir !== undefined ? administeredCluster(dataDir) : undefined;
  const { status, text } = await ask(new URL(path, url), { method, maxMs: answerMaxMs, trust }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new StartError(`${name} does not answer at ${url} (${error.code ?? error.message})`, {
        cause: error,
      });
    },
  );
  const answer = parsed(text);
  if (status === 200 && answer) return answer;
  // A cluster that keeps no snapshots at all answers 404, too.
  const said = answer?.details?.group === 'wherry.dev' ? refusals[status] : undefined;
  throw new StartError(said ?? answer?.message ?? `${name} answered ${status}`);
}

interface Answer {
  readonly message?: string;
  readonly details?: { readonly group?: string };
}

function parsed(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}
