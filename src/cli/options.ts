/** Parses the command line: the command, its options, and errors. */

import type { TokenOptions } from '../cluster/access/bootstrap-tokens.ts';
import type { KubeconfigOptions } from '../cluster/access/user-kubeconfig.ts';
import type { DoctorOptions } from '../cluster/doctor/doctor.ts';
import type { NodeOptions, StartOptions } from '../cluster/index.ts';
import { chooseCluster, dataFolderOf, namedIn } from '../cluster/named/cluster-choice.ts';
import type { CleanupOptions } from '../cluster/node/cleanup.ts';
import {
  backupFlags,
  type ConfigAction,
  cleanupFlags,
  configActions,
  doctorFlags,
  envtestFlags,
  everyFlags,
  isServerUrl,
  kubeconfigFlags,
  logFlags,
  type Shell,
  shells,
  testFlags,
  tokenFlags,
} from '../cluster/options/commands.ts';
import { isClusterName, namedFlags } from '../cluster/options/named.ts';
import { isMachine } from '../cluster/options/node-groups.ts';
import { machineFlag, nodeFolderFlag, nodeOptions, nodeServerFlag } from '../cluster/options/nodes.ts';
import { type Command, commands } from '../cluster/options/option.ts';
import { restoreOptions, storeOptions } from '../cluster/options/store.ts';
import type { RestoreTarget } from '../cluster/store/backup.ts';
import type { AssetsLine } from '../envtest/assets.ts';
import { type FlagLine, FlagTable, readOptions } from '../program/flag-reading.ts';
import { clusterOptions, settledStore } from '../program/start-line.ts';
import { refuse } from '../program/usage-error.ts';
import {
  type ImportLine,
  importLine,
  type OpenLine,
  openLine,
  type RecordLine,
  recordLine,
} from './copy-lines.ts';
import { sections, takesFlag } from './flag-sections.ts';
import type { LifecycleLine } from './lifecycle.ts';
import { lifecycleLine, type NamedUp, namedUp, snapshotLine, takesName } from './named-line.ts';
import { type OptionSources, type SourcedOptions, sourcedOptions } from './option-sources.ts';
import { adviceFor, listed, notWords, withoutKind } from './other-words.ts';
import { type PastLine, type ProblemsLine, pastLine, problemsLine } from './question-lines.ts';
import type { SnapshotLine } from './snapshot-command.ts';

/** The hidden command that completion scripts call. */
export const completionQuestion = '__complete';

const kubeletPort = 10_250;

export type LogForm = Required<ReturnType<typeof readLog>>;
export type LogLevel = LogForm['level'];

export interface ClusterLine {
  readonly command: 'up' | 'serve';
  /** For `up`: the name of the cluster. Absent: it is in memory, and has no name. */
  readonly named?: NamedUp | undefined;
  readonly start: StartOptions;
  /** Whether to start with the test kit. */
  readonly testing: boolean;
  readonly log: LogForm;
  /** The file that options come from, beside others. */
  readonly file?: string | undefined;
}

export interface NodeLine {
  readonly command: 'node';
  readonly server: string;
  readonly node: NodeOptions;
  readonly log: LogForm;
}

/** The line of `backup` from a server, or `restore` into a folder or etcd. */
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
  /** Whether to serve the test kit. */
  readonly testing: boolean;
  readonly log: LogForm;
  /** The program to run, and its arguments. */
  readonly program: readonly string[];
  /** Whether to leave the cluster running when the program fails. */
  readonly keeps: boolean;
}

export interface DoctorLine extends DoctorOptions {
  readonly command: 'doctor';
}

/** `wherry config`, with the options of `wherry up` in force. */
export interface ConfigLine {
  readonly command: 'config';
  readonly action: ConfigAction;
  readonly options: SourcedOptions;
}

interface HelpLine {
  readonly command: 'help';
  /** The command whose help is wanted. Default: that of all. */
  readonly about?: Command | undefined;
  /** Whether to show all options, by subject. */
  readonly all: boolean;
}

type InformationLine = HelpLine | { readonly command: 'version' };

/** `wherry completion SHELL`, which prints a script, and the call from that script. */
export type CompletionLine =
  | { readonly command: 'completion'; readonly shell: Shell }
  | { readonly command: typeof completionQuestion; readonly words: readonly string[] };

export type CommandLine =
  | ClusterLine
  | NodeLine
  | OpenLine
  | ImportLine
  | RecordLine
  | BackupLine
  | ProblemsLine
  | PastLine
  | TokenLine
  | KubeconfigLine
  | CleanupLine
  | AssetsLine
  | TestLine
  | LifecycleLine
  | SnapshotLine
  | CompletionLine
  | DoctorLine
  | ConfigLine
  | InformationLine;

/** `wherry envtest` has its own table, because its flags have names with another meaning elsewhere. */
const envtestTable = (): FlagTable => new FlagTable([envtestFlags, everyFlags]);
const flagTable = (): FlagTable =>
  new FlagTable(sections.flatMap(({ topics }) => topics).filter((topic) => topic !== envtestFlags));

/** Defaults of `wherry test`. */
const testDefaults: readonly (readonly [string, readonly string[]])[] = [
  ['port', ['0']],
  ['secure-port', ['off']],
  ['in-memory', ['true']],
];

/** @param sources where options come from beside the command line. Default: nowhere else */
export function readCommandLine(
  args: readonly string[],
  sources: OptionSources | undefined = undefined,
): CommandLine {
  if (args[0] === completionQuestion) return { command: completionQuestion, words: args.slice(1) };
  if (args[0] === 'envtest') return readAssetsLine(args.slice(1));
  const end = args[0] === 'test' ? args.indexOf('--') : -1;
  const [own, program] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const { flags, words } = flagTable().parse(own, refuse);
  const [word, ...rest] = words;
  const command = word === undefined ? undefined : commandOf(word);
  const information = informationLine(command, rest, flags);
  if (information || command === undefined) return information ?? { command: 'help', all: false };
  checkWords(command, rest);
  for (const flag of flags.keys()) checkTaken(command, flag);
  if (command === 'config') return configLine(flags, rest, sources);
  const options = sources
    ? sourcedOptions(command, flags, sources, refuse)
    : { flags, parts: new Map(), origins: new Map() };
  return readOptionLine(command, options, { rest, program, own });
}

function readOptionLine(
  command: Command,
  { flags, parts, file }: SourcedOptions,
  words: Omit<Words, 'log' | 'file'>,
): CommandLine {
  const log = readLog({ command: 'up', flags, refuse }) as LogForm;
  return readLine({ command, flags, parts, refuse }, { ...words, log, file });
}

/** With the options of `wherry up`, which are read for their errors. */
function configLine(
  flags: ReadonlyMap<string, readonly string[]>,
  words: readonly string[],
  sources: OptionSources | undefined,
): ConfigLine {
  const [action, ...rest] = words;
  const known = configActions.find((one) => one === action);
  if (!known || rest.length)
    return refuse(`config takes ${listed(configActions).replace(' and ', ' or ')}${notWords(words)}`);
  if (known === 'init' || known === 'schema' || !sources)
    return { command: 'config', action: known, options: { flags, parts: new Map(), origins: new Map() } };
  const options = sourcedOptions('up', flags, sources, refuse);
  readOptionLine('up', options, { rest: [], program: [], own: [] });
  return { command: 'config', action: known, options };
}

function commandOf(word: string): Command {
  if (isCommand(word)) return word;
  return refuse(`there is no command ${JSON.stringify(word)}; ${adviceFor(word)}`);
}

/** A command line that asks for the version or for help; undefined when it asks for neither. */
function informationLine(
  command: Command | undefined,
  rest: readonly string[],
  flags: ReadonlyMap<string, unknown>,
): InformationLine | undefined {
  if (flags.has('version')) return { command: 'version' };
  const all = flags.has('help-all');
  if (command === 'help' && rest.length > 1) refuse(`help takes one command, not ${rest.length}`);
  if (command === 'help' && rest[0] !== undefined) return { command: 'help', about: commandOf(rest[0]), all };
  if (command === undefined || command === 'help') return { command: 'help', all };
  if (all || flags.has('help')) return { command: 'help', about: command, all };
  return command === 'version' && rest.length === 0 ? { command: 'version' } : undefined;
}

function checkTaken(command: Command, flag: string): void {
  if (takesFlag(command, flag)) return;
  const takers = commands.filter((other) => takesFlag(other, flag));
  const others = takers.length ? `, which is an option of ${listed(takers)}` : '';
  refuse(`${command} does not take --${flag}${others}; wherry ${command} --help-all lists its options`);
}

/** The parts of a command line besides its flags. */
interface Words {
  readonly rest: readonly string[];
  readonly program: readonly string[];
  readonly log: LogForm;
  /** All arguments of the command itself, as given. */
  readonly own: readonly string[];
  /** The file that options come from. */
  readonly file?: string | undefined;
}

function readLine(line: FlagLine, { rest, program, log, file, own }: Words): CommandLine {
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
    case 'completion':
      return completionLine(rest);
    case 'problems':
      return problemsLine(line);
    case 'history':
    case 'timeline':
    case 'at':
      return pastLine(command, line, rest);
    case 'doctor':
      return doctorLine(line);
    case 'node':
      return { command, log, ...nodeLine(line) };
    case 'import':
      return importLine(line);
    case 'record':
      return recordLine(line, log);
    case 'open':
      return openLine(line, rest, log);
    case 'test':
      return { command, log, ...testLine(line, program) };
    case 'serve':
      return { command, log, file, testing: isTesting(line), start: clusterOptions(line) };
    case 'list':
    case 'status':
    case 'stop':
    case 'restart':
    case 'logs':
    case 'delete':
      return lifecycleLine(command, line, rest[0]);
    case 'snapshot':
      return snapshotLine(line, rest);
    default: {
      const start = upOptions(line);
      return { command: 'up', log, file, testing: isTesting(line), start, named: namedUp(line, start, own) };
    }
  }
}

const isCommand = (word: string): word is Command => (commands as readonly string[]).includes(word);

/** People at a terminal get lines, programs JSON. */
const readLog = (line: FlagLine): ReturnType<typeof readOptions<typeof logFlags>> => ({
  ...readOptions(logFlags, line),
  ...(process.stderr.isTTY && !line.flags.has('log-format') ? { format: 'text' as const } : {}),
});

function checkWords(command: Command, rest: readonly string[]): void {
  const takesFile = command === 'backup' || command === 'restore';
  if (takesFile && rest.length !== 1) refuse(`${command} takes one file: wherry ${command} FILE`);
  if (['open', 'history', 'timeline', 'at'].includes(command)) return;
  if (takesName(command) && rest.length > 1) {
    const name = withoutKind(rest);
    refuse(`${command} takes one name, not ${rest.length}${name ? `: wherry ${command} ${name}` : ''}`);
  }
  const takesWords =
    takesFile || takesName(command) || ['token', 'snapshot', 'completion', 'config'].includes(command);
  const [word = ''] = rest;
  const advice =
    command === 'up' && isClusterName(word)
      ? `; --name ${word} gives the cluster that name`
      : command === 'node'
        ? '; kubectl get nodes lists those that there are'
        : '';
  if (!takesWords && rest.length)
    refuse(`${command} takes options only, not ${JSON.stringify(word)}${advice}`);
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

function upOptions(line: FlagLine): StartOptions {
  const { node, ...options } = clusterOptions(line);
  const { simulatedNodes = 0, nodes } = options;
  const { withMachine } = readOptions(machineFlag, line);
  // With simulated nodes, pods do not run on this machine unless that is asked for.
  const isNode = withMachine || (nodes ? nodes.some(isMachine) : simulatedNodes === 0);
  return isNode ? { ...options, node } : options;
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

/** The data folder, given by its path or by the name of its cluster. */
function folderOf(
  line: FlagLine,
  declared: Pick<typeof tokenFlags, 'dataDir'>,
  refusesMemory = true,
): string {
  const { dataDir } = readOptions(declared, line);
  const { name } = readOptions(namedFlags, line);
  if (name !== undefined && dataDir !== undefined) refuse('--name and --data-dir exclude each other');
  return dataFolderOf({ name, dataDir }, refusesMemory);
}

const tokenActions = ['create', 'list', 'delete'] as const;

function tokenLine(line: FlagLine, words: readonly string[]): TokenLine {
  const [wanted = '', ...rest] = words;
  const action = tokenActions.find((one) => one === wanted);
  if (!action) return refuse(`token takes create, list or delete${notWords(words.slice(0, 1))}`);
  if (action === 'delete' ? rest.length !== 1 : rest.length !== 0)
    refuse(action === 'delete' ? 'token delete takes one token' : `token ${action} takes options only`);
  const idle =
    action === 'create'
      ? undefined
      : [...line.flags.keys()].find((flag) => !['data-dir', 'name', 'config'].includes(flag));
  if (idle) refuse(`token ${action} does not take --${idle}`);
  const { ttlMs = 0, description, groups, printJoinCommand = true } = readOptions(tokenFlags, line);
  const dataDir = folderOf(line, tokenFlags);
  return { command: 'token', action, dataDir, token: rest[0], ttlMs, description, groups, printJoinCommand };
}

function kubeconfigLine(line: FlagLine): KubeconfigLine {
  const { user, groups = [], lifeMs, server, output, merge } = readOptions(kubeconfigFlags, line);
  const dataDir = folderOf(line, kubeconfigFlags);
  if (groups.length && user === undefined) refuse('--group needs --user');
  if (output !== undefined && merge !== undefined) refuse('--output and --merge exclude each other');
  const cluster = namedIn(dataDir);
  return { command: 'kubeconfig', dataDir, cluster, user, groups, lifeMs, server, output, merge };
}

function cleanupLine(line: FlagLine): CleanupLine {
  const { dockerSocket, criSocket, all = false } = readOptions(cleanupFlags, line);
  const dataDir = folderOf(line, cleanupFlags, false);
  return { command: 'cleanup', dataDir, dockerSocket, criSocket, all };
}

function doctorLine(line: FlagLine): DoctorLine {
  const { port, format = 'text', dataDir: given } = readOptions(doctorFlags, line);
  const chosen = chooseCluster({ name: undefined, dataDir: given });
  const { record } = chosen;
  // A cluster that there is already keeps its ports.
  const usual = port ?? record?.port;
  return {
    command: 'doctor',
    dataDir: given ?? chosen.dataDir,
    port: usual ?? 8080,
    isPortOpen: usual === undefined,
    securePort: record?.securePort,
    format,
  };
}

function completionLine([shell, ...rest]: readonly string[]): CompletionLine {
  const known = shells.find((one) => one === shell);
  if (!known || rest.length)
    return refuse(`completion takes one shell: ${shells.slice(0, -1).join(', ')} or ${shells.at(-1)}`);
  return { command: 'completion', shell: known };
}

function readAssetsLine(args: readonly string[]): AssetsLine | InformationLine {
  const { flags, words } = envtestTable().parse(args, refuse, 'envtest');
  const information = informationLine('envtest', [], flags);
  if (information) return information;
  const [folder, ...rest] = words;
  if (!folder || rest.length) return refuse('envtest takes one folder, in which the programs are written');
  const {
    versioned = false,
    controllers,
    kubernetes = [],
  } = readOptions(envtestFlags, { command: 'envtest', flags, refuse });
  if (kubernetes.length > 1 && !versioned) return refuse('several versions of Kubernetes need --store');
  return { command: 'envtest', folder, versioned, controllers, kubernetes };
}
