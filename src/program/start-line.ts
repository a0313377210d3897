/** The options with which a command line starts a cluster, whatever program it belongs to. */
import type { SecureOptions, StartOptions } from '../cluster/index.ts';
import type { Command } from '../cluster/options/option.ts';
import { startOptions } from '../cluster/options/start-options.ts';
import { type FlagLine, FlagTable, readOptions } from './flag-reading.ts';
import { refuse } from './usage-error.ts';

const securePort = 6443;

/** The options of a cluster from flags of `wherry serve`. */
export const servedOptions = (args: readonly string[]): StartOptions =>
  clusterOptions({
    command: 'serve',
    flags: new FlagTable([startOptions]).parse(args, refuse, 'serve').flags,
    refuse,
  });

/** The options of a cluster that a line of `wherry serve` or `wherry up` starts. */
export function clusterOptions(line: FlagLine): StartOptions {
  const { store, dataDir, etcd, ...read } = readOptions(startOptions, line);
  const secure = typeof read.secure === 'object' && withPort(read.secure);
  if (read.port === 'off' && !secure) refuse('--port off and --secure-port off together leave no way in');
  if (read.port === 'off' && line.flags.has('in-memory') && secure && !leavesWayIn(secure))
    refuse(
      '--port off and --in-memory together leave no way in: name a file for the administrator by --write-kubeconfig',
    );
  return {
    ...read,
    ...settledStore({ store, dataDir, etcd }, line.flags.has('in-memory')),
    secure,
    defaultRoles: true,
    controllers: controllersOf(read.controllers, line.command),
  };
}

/** The usual port, or any free one when that is taken; a port that was requested is not replaced. */
const withPort = (secure: SecureOptions): SecureOptions => ({
  ...secure,
  port: secure.port ?? securePort,
  orAnyPort: secure.port === undefined,
});

/** Whether users can authenticate without a data folder, which would hold the administrator's kubeconfig. */
const leavesWayIn = ({ kubeconfigFile, tokenAuthFile, clientCAFile }: SecureOptions): boolean =>
  [kubeconfigFile, tokenAuthFile, clientCAFile].some((file) => file !== undefined);

/** The controllers to run. A list with only removals starts from the default ones. */
function controllersOf(asked: StartOptions['controllers'], command: Command): readonly string[] {
  const usual = command === 'serve' ? 'housekeeping' : '*';
  const list = Array.isArray(asked) ? (asked as readonly string[]) : [usual];
  return list.every((item) => item.startsWith('-')) ? [usual, ...list] : list;
}

type StoreChoice = Pick<StartOptions, 'store' | 'dataDir' | 'etcd'>;

/** The store, with the folder it needs. */
export function settledStore({ store: asked, dataDir, etcd }: StoreChoice, inMemory: boolean): StoreChoice {
  if (inMemory && dataDir !== undefined) refuse('--in-memory and --data-dir exclude each other');
  if (inMemory && asked !== undefined && asked !== 'memory')
    refuse(`--in-memory and --store ${asked} exclude each other`);
  const store = asked ?? (inMemory ? 'memory' : 'lmdb');
  if (store === 'memory') return { store };
  return { store, dataDir: dataDir ?? '.wherry', ...(etcd && { etcd }) };
}
