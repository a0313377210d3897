/** Flags of single commands that are no options of a cluster. */
import { nameValue } from './named.ts';
import { commands, optionFor } from './option.ts';
import {
  count,
  file,
  filled,
  folder,
  items,
  lifeMs,
  list,
  on,
  oneOf,
  parsed,
  port,
  repeated,
  text,
} from './values.ts';

const descriptionCharsMax = 1_000;
const nameCharsMax = 253;
/** As long as the authority itself. */
const expiresMaxMs = 10 * 365 * 86_400_000;

const dataDir = {
  flag: 'data-dir',
  value: text('FOLDER'),
} as const;

const cluster = optionFor('up', 'serve');

export const testingFlags = {
  testing: cluster<boolean>({
    flag: 'testing',
    value: on,
    needed: ['test'],
    text: 'serve the test kit under /wherry/testing on the port for plain HTTP: snapshots, clock, faults,\nrequests; needs --in-memory',
  }),
};

export const backupFlags = {
  server: optionFor('backup')<string>({
    flag: 'server',
    value: parsed('URL', 'a URL', (given) => (isServerUrl(given) ? given : undefined)),
    text: 'the server to back up',
    default: 'http://127.0.0.1:8080',
    preset: true,
  }),
};

const problems = optionFor('problems');

export const problemFlags = {
  namespace: problems<string>({
    flag: 'namespace',
    value: text('NAME'),
    text: 'problems of this namespace alone',
  }),
  format: problems<'text' | 'json'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'text', 'json'),
    text: 'text for people, or json: the answer of the server',
    default: 'text',
  }),
};

export const isServerUrl = (given: string): boolean => URL.canParse(given) && /^https?:/.test(given);

const token = optionFor('token');

export const tokenFlags = {
  ttlMs: token<number>({
    flag: 'ttl',
    value: parsed('TIME', 'a time such as 90m, 12h or 7d, or 0', (given) =>
      given === '0' ? 0 : lifeMs(given),
    ),
    text: 'how long the token can be used, such as 90m, 12h or 7d; 0 for ever',
    default: '24h',
    preset: true,
  }),
  description: token<string>({
    flag: 'description',
    value: {
      shown: 'TEXT',
      form: 'text',
      read: ([given = ''], flag, refuse) =>
        given.length <= descriptionCharsMax
          ? given
          : refuse(`${flag} must have at most ${descriptionCharsMax} characters`),
    },
    text: 'what it is for',
  }),
  groups: token<readonly string[]>({
    flag: 'groups',
    value: { shown: 'LIST', form: 'text', read: ([given = '']) => items(given) },
    text: 'groups of who uses it, which begin with system:bootstrappers: (default: the one that may join)',
  }),
  printJoinCommand: token<boolean>({
    flag: 'print-join-command',
    value: {
      shown: 'false',
      form: 'text',
      completes: ['false'],
      read: ([given], flag, refuse) =>
        given === 'true' || (given !== 'false' && refuse(`${flag} must be true or false`)),
    },
    text: 'print the token alone',
  }),
  dataDir: token<string>({ ...dataDir, text: 'the folder of the running cluster' }),
};

const kubeconfig = optionFor('kubeconfig');

const nameOf = (given: string, flag: string, refuse: (message: string) => never): string =>
  given !== '' && given.length <= nameCharsMax
    ? given
    : refuse(`${flag} must be a name of 1 to ${nameCharsMax} characters`);

export const kubeconfigFlags = {
  user: kubeconfig<string>({
    flag: 'user',
    value: { shown: 'NAME', form: 'text', read: ([given = ''], flag, refuse) => nameOf(given, flag, refuse) },
    text: 'the user (default: the administrator)',
  }),
  groups: kubeconfig<readonly string[]>({
    flag: 'group',
    value: repeated('NAME', nameOf),
    text: 'a group of the user; may be repeated',
  }),
  lifeMs: kubeconfig<number>({
    flag: 'expires',
    value: parsed('TIME', 'a time such as 90m, 12h or 30d, at most 3650d', (given) => {
      const ms = lifeMs(given);
      return ms !== undefined && ms <= expiresMaxMs ? ms : undefined;
    }),
    text: 'how long it is valid, such as 90m, 12h or 30d',
    default: '365d',
  }),
  server: kubeconfig<string>({
    flag: 'server',
    value: parsed('URL', 'a URL that begins with https:', (given) =>
      URL.canParse(given) && given.startsWith('https:') ? given : undefined,
    ),
    text: 'where the server is (default: where the last start of the data folder was reached)',
  }),
  output: kubeconfig<string>({
    flag: 'output',
    value: text('FILE'),
    text: 'write it to a file, that only its owner may read, instead of printing it',
  }),
  merge: kubeconfig<string>({
    flag: 'merge',
    value: text('FILE'),
    text: 'add it to a kubeconfig that there is, and make it the current one',
  }),
  dataDir: kubeconfig<string>({
    ...dataDir,
    text: 'the folder of the cluster, whose authority signs it',
  }),
};

export const testFlags = {
  keeps: optionFor('test')<boolean>({
    flag: 'keep-on-failure',
    value: on,
    needed: ['test'],
    text: 'leave the cluster running when the command fails, and say how to look inside',
  }),
};

const cleanup = optionFor('cleanup');

export const cleanupFlags = {
  dataDir: cleanup<string>({
    ...dataDir,
    text: 'the folder of the cluster or node whose containers are removed',
  }),
  all: cleanup<boolean>({
    flag: 'all',
    value: on,
    text: 'remove the containers of all clusters and nodes of Wherry on this machine',
  }),
  dockerSocket: cleanup<string>({
    flag: 'docker-socket',
    value: text('FILE'),
    text: 'socket of Docker or Podman; off: leave it alone (default: where they have theirs)',
  }),
  criSocket: cleanup<string>({
    flag: 'cri-socket',
    value: text('FILE'),
    text: 'socket of an engine that speaks CRI; off: leave it alone (default: where they have theirs)',
  }),
};

const envtest = optionFor('envtest');

export const envtestFlags = {
  kubernetes: envtest<readonly string[]>({
    flag: 'kubernetes',
    value: {
      shown: 'LIST',
      form: 'list',
      read: (given, flag, refuse) =>
        given.flatMap(items).map((one) => {
          const [, minor] = /^v?1\.(\d+)(?:\.\d+)?$/.exec(one) ?? [];
          return Number(minor) >= 22 && Number(minor) <= 36
            ? one.replace(/^v/, '')
            : refuse(`${flag} must be versions from 1.22 to 1.36, not ${JSON.stringify(one)}`);
        }),
    },
    text: 'the minor of Kubernetes that the server is: 1.29; with --store a list',
    default: '1.36',
  }),
  versioned: envtest<boolean>({
    flag: 'store',
    value: on,
    text: 'write them into k8s/VERSION-OS-ARCH of the folder, where setup-envtest keeps installed versions',
  }),
  controllers: envtest<string>({
    flag: 'controllers',
    value: {
      shown: 'LIST',
      form: 'text',
      completes: 'controllers',
      read: ([given = ''], flag, refuse) =>
        /^[*a-z,-]+$/.test(given) ? given : refuse(`${flag} must name controllers, or be cleanup, * or none`),
    },
    text: 'which controllers run beside the server: cleanup for those that finish deletions, none, * for\nall, names, or -name',
    default: 'cleanup',
  }),
};

/** The commands that options of a file can be for. */
const configured = optionFor(
  'up',
  'serve',
  'node',
  'test',
  'token',
  'kubeconfig',
  'cleanup',
  'doctor',
  'config',
);

export const configFlags = {
  config: configured<string>({
    flag: 'config',
    needed: ['up', 'serve'],
    value: filled('FILE', 'name a file, or be off'),
    text: 'a file with options; off: use no file (default: wherry.yaml in the current folder, which node\nand test use only when it is named)',
  }),
};

/** What `wherry config` does. */
export const configActions = ['print', 'check', 'init', 'schema'] as const;

export type ConfigAction = (typeof configActions)[number];

const doctor = optionFor('doctor');

export const doctorFlags = {
  format: doctor<'text' | 'json'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'text', 'json'),
    text: 'text for people, or json',
    default: 'text',
  }),
  dataDir: doctor<string>({ ...dataDir, text: 'the folder of the cluster that is to run' }),
  port: doctor<number>({
    flag: 'port',
    value: port,
    text: 'its port for plain HTTP',
    default: '8080',
  }),
};

export const openFlags = {
  writable: optionFor('open')<boolean>({
    flag: 'writable',
    value: on,
    needed: ['open'],
    text: 'let objects be changed, in memory; without it writes are refused',
  }),
};

const copying = optionFor('import');

export const importFlags = {
  dataDir: copying<string>({
    flag: 'data-dir',
    needed: ['import'],
    value: folder,
    text: 'the folder to copy into; it must not hold objects yet, unless an import of the same\ncluster was ended, or a cluster runs on it',
    default: 'copy',
    preset: true,
  }),
  into: copying<string>({
    flag: 'into',
    needed: ['import'],
    value: parsed('URL', 'a URL', (given) => (isServerUrl(given) ? given : undefined)),
    text: 'the running server to copy into, instead of a folder',
  }),
  intoKubeconfig: copying<string>({
    flag: 'into-kubeconfig',
    value: file,
    text: 'the running server to copy into, with credentials (default with --into-context: --kubeconfig)',
  }),
  intoContext: copying<string>({
    flag: 'into-context',
    value: text('NAME'),
    text: 'its context (default: the current one of --into-kubeconfig)',
  }),
  name: copying<string>({
    flag: 'name',
    needed: ['import'],
    value: nameValue,
    text: 'the running cluster of this user to copy into, instead of a folder',
  }),
  kubeconfig: copying<string>({
    flag: 'kubeconfig',
    needed: ['import'],
    value: file,
    text: 'how the cluster is reached (default: as kubectl finds it)',
  }),
  context: copying<string>({
    flag: 'context',
    needed: ['import'],
    value: text('NAME'),
    text: 'the context of the kubeconfig (default: the current one)',
  }),
  namespaces: copying<readonly string[]>({
    flag: 'namespaces',
    needed: ['import'],
    value: list,
    text: 'copy only what is in these namespaces',
  }),
  kinds: copying<readonly string[]>({
    flag: 'kinds',
    needed: ['import'],
    value: list,
    text: 'copy only these resources, such as pods,deployments.apps',
  }),
  selector: copying<string>({
    flag: 'selector',
    needed: ['import'],
    short: 'l',
    value: text('LABELS'),
    text: 'copy only objects with these labels',
  }),
  withSecrets: copying<boolean>({
    flag: 'with-secrets',
    needed: ['import'],
    value: on,
    text: 'copy the values of secrets, too; who has the folder has them (default: names and keys alone)',
  }),
  noSecrets: copying<boolean>({ flag: 'no-secrets', needed: ['import'], value: on, text: 'copy no secrets' }),
  requestsPerSecond: copying<number>({
    flag: 'rate',
    needed: ['import'],
    value: count('N', 1_000, 1),
    text: 'requests a second, at most',
    default: '10',
  }),
  alive: copying<boolean>({
    flag: 'alive',
    needed: ['import'],
    value: on,
    text: 'leave out nodes and what runs on them, so that simulated nodes can take their place',
  }),
};

const logged = optionFor('up', 'serve', 'node', 'open', 'record');

export const logFlags = {
  level: logged<'silent' | 'error' | 'warn' | 'info' | 'debug'>({
    flag: 'log-level',
    needed: ['up', 'serve', 'node', 'test'],
    value: oneOf('LEVEL', 'silent', 'error', 'warn', 'info', 'debug'),
    text: 'what is logged on standard error: silent, error, warn, info (the configuration in force,\nnodes that join, events of pods, slow requests) or debug (every request)',
    default: 'warn',
    preset: true,
  }),
  format: logged<'json' | 'text'>({
    flag: 'log-format',
    value: oneOf('FORMAT', 'json', 'text'),
    text: 'json: a JSON object per line; text: a line for people, which terminals get',
    default: 'json',
    preset: true,
  }),
};

/** Shells that command lines can be completed in. */
export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof shells)[number];

const every = optionFor(...commands);

export const everyFlags = {
  help: every<boolean>({
    flag: 'help',
    short: 'h',
    value: on,
    text: 'the options of a command that most people need',
  }),
  helpAll: every<boolean>({ flag: 'help-all', value: on, text: 'all options, by subject' }),
  version: every<boolean>({ flag: 'version', short: 'v', value: on, text: 'print the version' }),
};
