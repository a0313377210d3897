/** The options of the command: names, defaults, and errors. */
import { parseArgs } from 'node:util';
import type { NodeOptions, SecureOptions, StartOptions } from '../cluster/index.ts';
import { nearestName } from '../cluster/shared/suggestion.ts';
import type { RestoreTarget } from '../cluster/store/backup.ts';
import { auditArgs, readAudit } from './audit-flags.ts';
import { authenticationArgs, readAuthentication } from './authentication-flags.ts';
import { admissionArgs, authorizationArgs, readAdmission, readAuthorization } from './authorization-flags.ts';
import { type AssetsLine, readAssetsLine } from './envtest-flags.ts';
import { runtimeConfigOf, withTruths } from './flag-values.ts';
import { type KubeconfigLine, kubeconfigArgs, readKubeconfigLine } from './kubeconfig-flags.ts';
import { limitArgs, readLimits } from './limit-options.ts';
import { protectionArgs, readProtection } from './protection-flags.ts';
import { type CleanupLine, readCleanupLine, readRuntime, runtimeArgs } from './runtime-flags.ts';
import { readListening, secureArgs } from './secure-flags.ts';
import { readRestoreTarget, readStore, storeArgs } from './store-flags.ts';
import { isTestOption, splitTestLine, type TestLine, testArgs, testDefaults } from './test-flags.ts';
import { readTesting, testingArgs } from './testing-flags.ts';
import { readTokenLine, type TokenLine, tokenArgs } from './token-flags.ts';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';
const logLevels: readonly string[] = ['silent', 'error', 'warn', 'info', 'debug'];

type LogFormat = 'json' | 'text';
const logFormats: readonly string[] = ['json', 'text'];

export interface LogForm {
  readonly level: LogLevel;
  readonly format: LogFormat;
}

/** Maximum number of simulated nodes; each takes some memory and a periodic heartbeat. */
const simulatedNodesMax = 10_000;

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

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

const commands: readonly string[] = [
  'up',
  'serve',
  'node',
  'backup',
  'restore',
  'token',
  'kubeconfig',
  'test',
  'cleanup',
  'envtest',
];

/** Every option, with the commands that accept it. */
const options = {
  port: { ...text, for: ['up', 'serve'] },
  host: { ...text, for: ['up', 'serve'] },
  'data-dir': { ...text, for: ['up', 'serve', 'node', 'restore', 'token', 'kubeconfig', 'cleanup'] },
  ...storeArgs,
  history: { ...text, for: ['up', 'serve'] },
  like: { ...text, for: ['up', 'serve'] },
  'watch-start': { ...text, for: ['up', 'serve'] },
  'create-status': { ...text, for: ['up', 'serve'] },
  'managed-fields': { ...text, for: ['up', 'serve'] },
  'runtime-config': { ...text, multiple: true, for: ['up', 'serve'] },
  ui: { ...text, for: ['up', 'serve'] },
  'service-cluster-ip-range': { ...text, for: ['up', 'serve', 'node'] },
  'service-node-port-range': { ...text, for: ['up', 'serve'] },
  ...auditArgs,
  ...protectionArgs,
  ...secureArgs,
  ...authenticationArgs,
  ...authorizationArgs,
  ...admissionArgs,
  ...limitArgs,
  controllers: { ...text, for: ['up', 'serve'] },
  'leader-elect': { ...flag, for: ['up', 'serve'] },
  'service-account-token-secrets': { ...flag, for: ['up', 'serve'] },
  ...testingArgs,
  'ingress-port': { ...text, for: ['up'] },
  'ingress-tls-port': { ...text, for: ['up'] },
  'simulated-nodes': { ...text, for: ['up', 'test'] },
  'default-storage-class': { ...text, for: ['up'] },
  server: { ...text, for: ['node', 'backup', 'kubeconfig'] },
  token: { ...text, for: ['node'] },
  'ca-hash': { ...text, for: ['node'] },
  'ca-file': { ...text, for: ['node'] },
  ...tokenArgs,
  ...kubeconfigArgs,
  ...testArgs,
  'node-name': { ...text, for: ['up', 'node'] },
  images: { ...text, for: ['up', 'node'] },
  ...runtimeArgs,
  volumes: { ...text, for: ['up', 'node'] },
  'log-links': { ...text, for: ['up', 'node'] },
  'pod-network': { ...text, for: ['up', 'node'] },
  'pod-range': { ...text, for: ['up', 'node'] },
  'kubelet-port': { ...text, for: ['up', 'node'] },
  'log-level': { ...text, for: ['up', 'serve', 'node'] },
  'log-format': { ...text, for: ['up', 'serve', 'node'] },
  version: { ...flag, for: commands },
  help: { ...flag, for: commands },
} as const;

type Values = ReturnType<typeof parse>['values'];

export function readCommandLine(args: readonly string[]): CommandLine {
  if (args[0] === 'envtest') return readAssetsLine(args.slice(1), refuse);
  const { options: ownArgs, program } = splitTestLine(args);
  const { values, positionals } = parse(args[0] === 'test' ? ownArgs : args);
  const log: LogForm = {
    level: oneOf('--log-level', values['log-level'] ?? 'warn', logLevels) as LogLevel,
    format: oneOf('--log-format', values['log-format'] ?? 'json', logFormats) as LogFormat,
  };
  const [command, ...rest] = positionals;
  if (values.version) return { command: 'version' };
  if (values.help || command === undefined) return { command: 'help' };
  if (!commands.includes(command))
    throw new UsageError(
      `there is no command ${JSON.stringify(command)}; the commands are ${commands.slice(0, -1).join(', ')} and ${commands.at(-1)}`,
    );
  const takesFile = command === 'backup' || command === 'restore';
  if (takesFile && rest.length !== 1) throw new UsageError(`${command} takes one file, not ${rest.length}`);
  if (!takesFile && command !== 'token' && rest.length)
    throw new UsageError(`${command} takes options only, not ${JSON.stringify(rest[0])}`);
  for (const name of Object.keys(values))
    if (!isFor(command, name as keyof typeof options))
      throw new UsageError(`${command} does not take --${name}; see wherry --help`);
  if (takesFile) return { command, file: rest[0]!, ...backupOptions(values) };
  if (command === 'token') return readTokenLine(values, rest, refuse);
  if (command === 'kubeconfig') return readKubeconfigLine(values, refuse);
  if (command === 'cleanup') return readCleanupLine(values);
  if (command === 'node') return { command, log, ...nodeLine(values) };
  if (command === 'test') return { command, log, ...testLine(values, program) };
  const testing = readTesting(values, refuse);
  if (command === 'serve') return { command, log, testing, start: startOptions(values, 'housekeeping') };
  return { command: 'up', log, testing, start: { ...startOptions(values, '*'), ...upOptions(values) } };
}

function isFor(command: string, name: keyof typeof options): boolean {
  const takers: readonly string[] = options[name].for;
  return command === 'test' ? isTestOption(name, takers) : takers.includes(command);
}

function testLine(values: Values, program: readonly string[] = []): Omit<TestLine, 'command' | 'log'> {
  if (!program[0]) throw new UsageError('test needs a command: wherry test [options] -- COMMAND…');
  const given = { ...testDefaults, ...values };
  return {
    start: { ...startOptions(given, '*'), simulatedNodes: simulatedNodesOf(values) },
    testing: readTesting(given, refuse),
    program,
    keeps: values['keep-on-failure'] ?? false,
  };
}

const simulatedNodesOf = (values: Values): number =>
  countOf('--simulated-nodes', values['simulated-nodes'] ?? '0', simulatedNodesMax);

const refuse = (message: string): never => {
  throw new UsageError(message);
};

/** `runs`: the controllers that run by default; `--controllers=-name` removes from these. */
function startOptions(values: Values, runs: '*' | 'housekeeping'): StartOptions {
  const listening = readListening(values, refuse);
  const secure = readAuthorization(values, readAuthentication(values, listening, refuse), refuse);
  if (values.port === 'off' && !secure)
    throw new UsageError('--port off and --secure-port off together leave no way in');
  if (values.port === 'off' && values['in-memory'] && secure && !leavesWayIn(secure))
    throw new UsageError(
      '--port off and --in-memory together leave no way in: name a file for the administrator by --write-kubeconfig',
    );
  return {
    host: values.host,
    port: values.port === 'off' ? 'off' : portOf('--port', values.port ?? '8080'),
    secure,
    admission: readAdmission(values),
    ...readStore(values, refuse),
    history: historyOf(values.history ?? '10m,50000'),
    like: optionOf('--like', values.like, ['kubernetes']),
    watchStart: optionOf('--watch-start', values['watch-start'], ['history', 'state']),
    createStatus: values['create-status'] === undefined ? undefined : createStatusOf(values['create-status']),
    ui: optionOf('--ui', values.ui, ['on', 'off']) !== 'off',
    managedFields: optionOf('--managed-fields', values['managed-fields'], ['all', 'applied', 'off']),
    runtimeConfig: runtimeConfigOf(values['runtime-config'], refuse),
    serviceClusterIPRange: values['service-cluster-ip-range'],
    serviceNodePortRange: values['service-node-port-range'],
    controllers: controllersOf(values.controllers ?? runs, runs),
    leaderElection: values['leader-elect'],
    controllerSettings: { serviceAccountTokenSecrets: values['service-account-token-secrets'] ?? false },
    auditLog: readAudit(values, refuse),
    ...readProtection(values, refuse),
    limits: readLimits(values, refuse),
  };
}

/** Whether users get in without a data folder, where the administrator's kubeconfig would be. */
const leavesWayIn = ({ kubeconfigFile, tokenAuthFile, clientCAFile }: SecureOptions): boolean =>
  [kubeconfigFile, tokenAuthFile, clientCAFile].some((file) => file !== undefined);

function controllersOf(text: string, runs: string): readonly string[] {
  const list = text.split(',').filter(Boolean);
  if (list.length === 0) throw new UsageError('--controllers must name controllers, or be * or none');
  return list.every((item) => item.startsWith('-')) ? [runs, ...list] : list;
}

function upOptions(values: Values): StartOptions {
  const simulatedNodes = simulatedNodesOf(values);
  const storageClass = optionOf('--default-storage-class', values['default-storage-class'], [
    'local-path',
    'off',
  ]);
  return {
    ingress: ingressOptions(values),
    defaultStorageClass: storageClass !== 'off',
    // With simulated nodes, pods do not run on this machine.
    ...(simulatedNodes ? { simulatedNodes } : { node: nodeOptions(values) }),
  };
}

function backupOptions(values: Values): Pick<BackupLine, 'server' | 'target'> {
  const { server = 'http://127.0.0.1:8080' } = values;
  if (!isServer(server)) throw new UsageError(`--server must be a URL, not ${JSON.stringify(server)}`);
  return { server, target: readRestoreTarget(values, refuse) };
}

const isServer = (text: string): boolean => URL.canParse(text) && /^https?:/.test(text);

function ingressOptions(values: Values): StartOptions['ingress'] {
  const { 'ingress-port': port, 'ingress-tls-port': tlsPort } = values;
  if (port === undefined && tlsPort !== undefined)
    throw new UsageError('--ingress-tls-port needs --ingress-port');
  if (port === undefined) return undefined;
  return {
    port: portOf('--ingress-port', port),
    ...(tlsPort === undefined ? {} : { tlsPort: portOf('--ingress-tls-port', tlsPort) }),
  };
}

function nodeLine(values: Values): { server: string; node: NodeOptions } {
  const { server } = values;
  if (!server || !isServer(server))
    throw new UsageError('node needs the server it belongs to: --server http://127.0.0.1:8080');
  const dataDir = values['data-dir'] ?? '.wherry';
  const folder = `${dataDir}/node`;
  const serviceRange = values['service-cluster-ip-range'];
  const join = joinOptions(server, values);
  return {
    server,
    node: {
      folder,
      volumes: `${dataDir}/volumes`,
      serviceRange,
      kubeletPort: 10_250,
      ...nodeOptions(values),
      join,
    },
  };
}

function joinOptions(server: string, values: Values): NodeOptions['join'] {
  const { token, 'ca-hash': caHash, 'ca-file': caFile } = values;
  const asked = Object.entries({ '--token': token, '--ca-hash': caHash, '--ca-file': caFile });
  const [first] = asked.find(([, value]) => value !== undefined) ?? [];
  if (first !== undefined && !server.startsWith('https:'))
    throw new UsageError(`${first} is for servers over https, not ${server}`);
  if (caHash !== undefined && !/^sha256:[0-9a-f]{64}$/i.test(caHash))
    throw new UsageError('--ca-hash must be sha256: and 64 digits from 0 to f');
  return { token, caHash, caFile };
}

function nodeOptions(values: Values): NodeOptions {
  const { 'node-name': name, images, 'kubelet-port': port, 'pod-range': podRange } = values;
  const { 'log-links': logLinks, volumes } = values;
  if (volumes === '') throw new UsageError('--volumes must name a folder');
  if (logLinks === '') throw new UsageError('--log-links must name a folder');
  return {
    podNetwork: oneOf('--pod-network', values['pod-network'] ?? 'auto', ['auto', 'netns', 'host']),
    ...(podRange === undefined ? {} : { podRange }),
    ...(name === undefined ? {} : { name }),
    ...(images === undefined ? {} : { images }),
    ...readRuntime(values, refuse),
    ...(volumes === undefined ? {} : { volumes }),
    ...(logLinks === undefined ? {} : { logLinks }),
    ...(port === undefined ? {} : { kubeletPort: portOf('--kubelet-port', port) }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: withTruths(args, options), allowPositionals: true, options });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw unknownOption(message);
    // Only the first sentence; the rest of Node's message is advice over several lines.
    throw new UsageError(`${message.split(/\.\s/)[0]!}; see wherry --help`);
  }
}

/** Node's message `Unknown option '--prot'` without its advice, which does not fit here. */
function unknownOption(message: string): UsageError {
  const option = /'(-[^']*)'/.exec(message)?.[1] ?? '';
  const meant = nearestName(option.replace(/^-+/, ''), Object.keys(options));
  const advice = meant === undefined ? '' : `did you mean --${meant}? `;
  return new UsageError(`there is no option ${option}; ${advice}wherry --help lists all`);
}

function portOf(option: string, value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65535) return Number(value);
  throw new UsageError(`${option} must be a number from 0 to 65535, not ${JSON.stringify(value)}`);
}

function countOf(option: string, value: string, max: number): number {
  if (/^\d{1,9}$/.test(value) && Number(value) <= max) return Number(value);
  throw new UsageError(`${option} must be a number from 0 to ${max}, not ${JSON.stringify(value)}`);
}

const createStatusOf = (value: string): 200 | 201 =>
  oneOf('--create-status', value, ['200', '201']) === '200' ? 200 : 201;

/** The value of an optional choice. */
const optionOf = <const T extends string>(
  option: string,
  value: string | undefined,
  allowed: readonly T[],
): T | undefined => (value === undefined ? undefined : oneOf(option, value, allowed));

function oneOf<const T extends string>(option: string, value: string, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T;
  throw new UsageError(`${option} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
}

const unitsMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 };

/** `10m,50000`: changes are kept for ten minutes, but never more than fifty thousand of them. */
function historyOf(value: string) {
  const match = /^(\d{1,6})([smh]),(\d{1,9})$/.exec(value);
  if (!match)
    throw new UsageError(
      `--history must be an age and a count such as 10m,50000, not ${JSON.stringify(value)}`,
    );
  return { ageMaxMs: Number(match[1]) * unitsMs[match[2]!]!, changesMax: Number(match[3]) };
}
