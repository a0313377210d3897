/** The command line: which command, with which options, and what is wrong with it. */

import type { TokenOptions } from '../cluster/access/bootstrap-tokens.ts';
import type { KubeconfigOptions } from '../cluster/access/user-kubeconfig.ts';
import type { NodeOptions, SecureOptions, StartOptions } from '../cluster/index.ts';
import type { CleanupOptions } from '../cluster/node/cleanup.ts';
import {
  backupFlags,
  cleanupFlags,
  envtestFlags,
  everyFlags,
  isServerUrl,
  kubeconfigFlags,
  logFlags,
  testFlags,
  tokenFlags,
} from '../cluster/options/commands.ts';
import { nodeFolderFlag, nodeOptions, nodeServerFlag } from '../cluster/options/nodes.ts';
import { type Command, commands, flagsOf } from '../cluster/options/option.ts';
import { startOptions } from '../cluster/options/start-options.ts';
import { restoreOptions, storeOptions } from '../cluster/options/store.ts';
import type { RestoreTarget } from '../cluster/store/backup.ts';
import type { AssetsLine } from '../envtest/assets.ts';
import { type FlagLine, FlagTable, readOptions } from './flag-reading.ts';
import { sections, storeTopics } from './flag-sections.ts';

const securePort = 6443;
const kubeletPort = 10_250;

export type LogForm = Required<ReturnType<typeof readLog>>;
export type LogLevel = LogForm['level'];

export interface ClusterLine {
  readonly command: 'up' | 'serve';
  readonly start: StartOptions;
  /** With the test kit. */
  readonly testing: boolean;
  readonly log: LogForm;
}

export interface NodeLine {
  readonly command: 'node';
  readonly server: string;
  readonly node: NodeOptions;
  readonly log: LogForm;
}

/** `backup` from a server, or `restore` into a folder or etcd. */
export interface BackupLine {
  readonly command: 'backup' | 'restore';
  readonly file: string;
  readonly server: string;
  readonly target: RestoreTarget;
}

export interface TokenLine extends TokenOptions {
  readonly command: 'token';
}

export interface KubeconfigLine extends KubeconfigOptions {
  readonly command: 'kubeconfig';
}

export interface CleanupLine extends CleanupOptions {
  readonly command: 'cleanup';
}

export interface TestLine {
  readonly command: 'test';
  readonly start: StartOptions;
  /** Serve the test kit. */
  readonly testing: boolean;
  readonly log: LogForm;
  /** The program to run, and its arguments. */
  readonly program: readonly string[];
  /** Leave the cluster running when the program fails. */
  readonly keeps: boolean;
}

export type CommandLine =
  | ClusterLine
  | NodeLine
  | BackupLine
  | TokenLine
  | KubeconfigLine
  | CleanupLine
  | AssetsLine
  | TestLine
  | { readonly command: 'help' }
  | { readonly command: 'version' };

/** A wrong command line; the message says what is wrong. */
export class UsageError extends Error {}

const refuse = (message: string): never => {
  throw new UsageError(message);
};

/** The flags of `wherry envtest` have names that mean something else elsewhere. */
const envtestTable = (): FlagTable => new FlagTable([envtestFlags, everyFlags], false);
const flagTable = (): FlagTable =>
  new FlagTable(sections.flatMap(({ topics }) => topics).filter((topic) => topic !== envtestFlags));

/** What holds for `wherry test` when nothing else is given. */
const testDefaults: readonly (readonly [string, readonly string[]])[] = [
  ['port', ['0']],
  ['secure-port', ['off']],
  ['in-memory', ['true']],
];

export function readCommandLine(args: readonly string[]): CommandLine {
  if (args[0] === 'envtest') return readAssetsLine(args.slice(1));
  const end = args[0] === 'test' ? args.indexOf('--') : -1;
  const [own, program] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const table = flagTable();
  const { flags, words } = table.parse(own, refuse);
  const log = readLog({ command: 'up', flags, refuse }) as LogForm;
  const [command, ...rest] = words;
  if (flags.has('version')) return { command: 'version' };
  if (flags.has('help') || command === undefined) return { command: 'help' };
  if (!isCommand(command))
    return refuse(
      `there is no command ${JSON.stringify(command)}; the commands are ${commands.slice(0, -1).join(', ')} and ${commands.at(-1)}`,
    );
  checkWords(command, rest);
  for (const flag of flags.keys())
    if (!isTakenBy(command, flag, table.takersOf(flag)))
      refuse(`${command} does not take --${flag}; see wherry --help`);
  return readLine({ command, flags, refuse }, { rest, program, log });
}

/** What a command line has beside its flags. */
interface Words {
  readonly rest: readonly string[];
  readonly program: readonly string[];
  readonly log: LogForm;
}

function readLine(line: FlagLine, { rest, program, log }: Words): CommandLine {
  const { command } = line;
  switch (command) {
    case 'backup':
    case 'restore':
      return { command, file: rest[0]!, ...backupLine(line) };
    case 'token':
      return tokenLine(line, rest);
    case 'kubeconfig':
      return kubeconfigLine(line);
    case 'cleanup':
      return cleanupLine(line);
    case 'node':
      return { command, log, ...nodeLine(line) };
    case 'test':
      return { command, log, ...testLine(line, program) };
    case 'serve':
      return { command, log, testing: isTesting(line), start: clusterOptions(line) };
    default:
      return { command: 'up', log, testing: isTesting(line), start: upOptions(line) };
  }
}

const isCommand = (word: string): word is Command => (commands as readonly string[]).includes(word);

const readLog = (line: FlagLine) => readOptions(logFlags, line);

function checkWords(command: Command, rest: readonly string[]): void {
  const takesFile = command === 'backup' || command === 'restore';
  if (takesFile && rest.length !== 1) refuse(`${command} takes one file, not ${rest.length}`);
  if (!takesFile && command !== 'token' && rest.length)
    refuse(`${command} takes options only, not ${JSON.stringify(rest[0])}`);
}

/** `wherry test` takes the flags of serve, except those that say where objects are kept. */
function isTakenBy(command: Command, flag: string, takers: readonly Command[]): boolean {
  if (takers.includes(command) || command !== 'test') return takers.includes(command);
  return takers.includes('serve') && !storeTopics.flatMap(flagsOf).some((form) => form.flag === flag);
}

function testLine(line: FlagLine, program: readonly string[]): Omit<TestLine, 'command' | 'log'> {
  if (!program[0]) refuse('test needs a command: wherry test [options] -- COMMAND…');
  const given = { ...line, flags: new Map([...testDefaults, ...line.flags]) };
  return {
    start: { simulatedNodes: 0, ...clusterOptions(given) },
    testing: isTesting(given),
    program,
    keeps: readOptions(testFlags, line).keeps ?? false,
  };
}

function isTesting({ flags }: FlagLine): boolean {
  if (!flags.has('testing')) return false;
  if (!flags.has('in-memory') && flags.get('store')?.at(-1) !== 'memory')
    refuse('--testing needs --in-memory');
  if (flags.get('port')?.at(-1) === 'off') refuse('--testing needs the port for plain HTTP');
  return true;
}

function clusterOptions(line: FlagLine): StartOptions {
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

/** The usual port, or any when that is taken; but no other than one that is asked for. */
const withPort = (secure: SecureOptions): SecureOptions => ({
  ...secure,
  port: secure.port ?? securePort,
  orAnyPort: secure.port === undefined,
});

/** Whether users get in without a data folder, where the administrator's kubeconfig would be. */
const leavesWayIn = ({ kubeconfigFile, tokenAuthFile, clientCAFile }: SecureOptions): boolean =>
  [kubeconfigFile, tokenAuthFile, clientCAFile].some((file) => file !== undefined);

/** Names with a minus alone are taken from those that run by default. */
function controllersOf(asked: StartOptions['controllers'], command: Command): readonly string[] {
  const usual = command === 'serve' ? 'housekeeping' : '*';
  const list = Array.isArray(asked) ? (asked as readonly string[]) : [usual];
  return list.every((item) => item.startsWith('-')) ? [usual, ...list] : list;
}

function upOptions(line: FlagLine): StartOptions {
  const { simulatedNodes, node, ...options } = clusterOptions(line);
  // With simulated nodes, pods do not run on this machine.
  return { ...options, ...(simulatedNodes ? { simulatedNodes } : { node }) };
}

type StoreChoice = Pick<StartOptions, 'store' | 'dataDir' | 'etcd'>;

/** The store that is meant, with the folder that it needs. */
function settledStore({ store: asked, dataDir, etcd }: StoreChoice, inMemory: boolean): StoreChoice {
  if (inMemory && dataDir !== undefined) refuse('--in-memory and --data-dir exclude each other');
  if (inMemory && asked !== undefined && asked !== 'memory')
    refuse(`--in-memory and --store ${asked} exclude each other`);
  const store = asked ?? (inMemory ? 'memory' : 'lmdb');
  if (store === 'memory') return { store };
  return { store, dataDir: dataDir ?? '.wherry', ...(etcd && { etcd }) };
}

function backupLine(line: FlagLine): Pick<BackupLine, 'server' | 'target'> {
  const given = readOptions({ ...restoreOptions, etcd: storeOptions.etcd }, line);
  const { store, dataDir = '.wherry', etcd } = settledStore(given, false);
  if (store === 'memory') refuse('a backup is restored into a data folder or into etcd, not into memory');
  return { server: readOptions(backupFlags, line).server ?? '', target: etcd ? { etcd } : { dataDir } };
}

function nodeLine(line: FlagLine): { server: string; node: NodeOptions } {
  const { server = '' } = readOptions(nodeServerFlag, line);
  if (!isServerUrl(server)) refuse('node needs the server it belongs to: --server http://127.0.0.1:8080');
  const joining = ['token', 'ca-hash', 'ca-file'].find((flag) => line.flags.has(flag));
  if (joining && !server.startsWith('https:'))
    refuse(`--${joining} is for servers over https, not ${server}`);
  const { dataDir } = readOptions(nodeFolderFlag, line);
  const places = { folder: `${dataDir}/node`, volumes: `${dataDir}/volumes` };
  return { server, node: { ...places, kubeletPort, ...readOptions(nodeOptions, line) } };
}

const tokenActions = ['create', 'list', 'delete'] as const;

function tokenLine(line: FlagLine, words: readonly string[]): TokenLine {
  const [wanted = '', ...rest] = words;
  const action = tokenActions.find((one) => one === wanted);
  if (!action) return refuse(`token takes create, list or delete, not ${JSON.stringify(wanted)}`);
  if (action === 'delete' ? rest.length !== 1 : rest.length !== 0)
    refuse(action === 'delete' ? 'token delete takes one token' : `token ${action} takes options only`);
  const idle = action === 'create' ? undefined : [...line.flags.keys()].find((flag) => flag !== 'data-dir');
  if (idle) refuse(`token ${action} does not take --${idle}`);
  const {
    ttlMs = 0,
    description,
    groups,
    printJoinCommand = true,
    dataDir = '',
  } = readOptions(tokenFlags, line);
  return { command: 'token', action, dataDir, token: rest[0], ttlMs, description, groups, printJoinCommand };
}

function kubeconfigLine(line: FlagLine): KubeconfigLine {
  const {
    user,
    groups = [],
    lifeMs,
    server,
    output,
    merge,
    dataDir = '',
  } = readOptions(kubeconfigFlags, line);
  if (groups.length && user === undefined) refuse('--group needs --user');
  if (output !== undefined && merge !== undefined) refuse('--output and --merge exclude each other');
  return { command: 'kubeconfig', dataDir, user, groups, lifeMs, server, output, merge };
}

function cleanupLine(line: FlagLine): CleanupLine {
  const { dataDir = '', dockerSocket, criSocket, all = false } = readOptions(cleanupFlags, line);
  return { command: 'cleanup', dataDir, dockerSocket, criSocket, all };
}

function readAssetsLine(args: readonly string[]): AssetsLine | { readonly command: 'help' | 'version' } {
  const { flags, words } = envtestTable().parse(args, refuse);
  if (flags.has('version')) return { command: 'version' };
  if (flags.has('help')) return { command: 'help' };
  const [folder, ...rest] = words;
  if (!folder || rest.length) return refuse('envtest takes one folder, in which the programs are written');
  const { versioned = false, controllers } = readOptions(envtestFlags, { command: 'envtest', flags, refuse });
  return { command: 'envtest', folder, versioned, controllers };
}
