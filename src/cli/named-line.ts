/** Command lines about clusters with names. */

import type { StartOptions } from '../cluster/index.ts';
import type { Open } from '../cluster/named/allotment.ts';
import type { Asked } from '../cluster/named/cluster-choice.ts';
import { deleteFlags, listFlags, logsFlags, namedFlags, snapshotFlags } from '../cluster/options/named.ts';
import type { Command } from '../cluster/options/option.ts';
import { folderOptions } from '../cluster/options/store.ts';
import { type FlagLine, readOptions } from '../program/flag-reading.ts';
import type { LifecycleLine } from './lifecycle.ts';
import { notWords } from './other-words.ts';
import type { SnapshotLine } from './snapshot-command.ts';

export interface NamedUp extends Asked {
  readonly inMemory: boolean;
  readonly detached: boolean;
  /** Whether a start in the background prints JSON. */
  readonly json: boolean;
  /** Whether to make its context the current one. */
  readonly uses: boolean;
  /** Whether to leave the user's kubeconfig alone. */
  readonly keepsKubeconfig: boolean;
  /** Values that the command line leaves open. */
  readonly open: Open;
  /** The options of the cluster, for the next start. */
  readonly args: readonly string[];
}

export const takesName = (command: Command): boolean =>
  ['status', 'stop', 'restart', 'logs', 'delete'].includes(command);

export function lifecycleLine(
  command: LifecycleLine['command'],
  line: FlagLine,
  name: string | undefined,
): LifecycleLine {
  const json = readOptions(listFlags, line).format === 'json';
  const { sure = false, all = false } = readOptions(deleteFlags, line);
  if (all && name !== undefined) line.refuse('delete takes a name or --all');
  const { follows = false } = readOptions(logsFlags, line);
  return { command, name, json, sure, all, follows };
}

const snapshotActions = ['save', 'load', 'list', 'delete'] as const;

export function snapshotLine(line: FlagLine, words: readonly string[]): SnapshotLine {
  const [wanted, ...rest] = words;
  const action = snapshotActions.find((one) => one === wanted);
  if (!action) return line.refuse(`snapshot takes save, load, list or delete${notWords(words.slice(0, 1))}`);
  if (action === 'list' ? rest.length : rest.length !== 1)
    line.refuse(action === 'list' ? 'snapshot list takes options only' : `snapshot ${action} takes one name`);
  const { replaces = false } = readOptions(snapshotFlags, line);
  if (replaces && action !== 'save') line.refuse(`snapshot ${action} does not take --replace`);
  const { name } = readOptions(namedFlags, line);
  const json = readOptions(listFlags, line).format === 'json';
  return { command: 'snapshot', action, name, snapshot: rest[0] ?? '', replaces, json };
}

/** The name of a cluster to start. A cluster in memory has a name only on request, because nothing of it remains. */
export function namedUp(
  line: FlagLine,
  { store, port, secure }: StartOptions,
  own: readonly string[],
): NamedUp | undefined {
  const given = readOptions(namedFlags, line);
  const { name, detached = false, uses = false, noKubeconfig = false, format } = given;
  if (format !== undefined && !detached) line.refuse('--output is for a start in the background: --detach');
  const { dataDir } = readOptions(folderOptions, line);
  if (uses && noKubeconfig) line.refuse('--use and --no-kubeconfig exclude each other');
  const inMemory = store === 'memory';
  if (inMemory && name === undefined && !detached)
    return uses ? line.refuse('--use needs a cluster with a name: --name') : undefined;
  const isGiven = (flag: string): boolean => line.flags.has(flag);
  const isOpen = (flag: string, given: unknown) => !isGiven(flag) || (given === 0 && 'any');
  return {
    ...{ name, dataDir, inMemory, detached, uses, json: format === 'json' },
    keepsKubeconfig: noKubeconfig,
    open: {
      port: isOpen('port', port),
      securePort: isOpen('secure-port', typeof secure === 'object' ? secure.port : undefined),
      serviceRange: !isGiven('service-cluster-ip-range'),
      podRange: !isGiven('pod-range'),
    },
    args: withoutName(own),
  };
}

/** The arguments of a cluster without the command and the flags that are given anew with each start. */
function withoutName(own: readonly string[]): string[] {
  const rest = own.filter((word, i) => word !== 'up' || own.indexOf('up') !== i);
  return rest.filter(
    (word, i) =>
      !/^(-d|--detach|--use|--name(=.*)?|-o.*|--output(=.*)?)$/.test(word) &&
      !/^(--name|-o|--output)$/.test(rest[i - 1] ?? ''),
  );
}
