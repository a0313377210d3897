/**
 * The stand-in for kube-apiserver: reads its flags, finds the etcd of the pair, and runs the server on that etcd's data
 * folder.
 */
import path from 'node:path';
import { wallClock } from '../clock.ts';
import { apiServerFlags, readApiServerFlags } from './apiserver-flags.ts';
import { apiServerHelp, apiServerVersion, kubernetesVersion } from './apiserver-help.ts';
import { emulatedVersion } from './emulated-version.ts';
import { FlagError, type FlagValues, isTrue, lastOf, listOf } from './flag.ts';
import { versionProblem } from './flag-settings.ts';
import { type ServerPlan, serveInPlace } from './in-place.ts';
import { failureLine, klogLine } from './klog.ts';
import { answers, findPair } from './pair.ts';
import { followParent } from './parent.ts';
import { problemsOf } from './requirements.ts';

const findEtcdMaxMs = 20_000;
const etcdLookMs = 1_000;
/** How many checks in a row may find no etcd before the server ends. */
const etcdMissedMax = 5;

export interface ApiServerHost {
  readonly wherryVersion: () => string;
  /** Called when the server answers. */
  readonly started: () => void;
  /** Controllers of `wherry envtest --controllers`, written into the program. */
  readonly controllers: string | undefined;
  /** The version of Kubernetes of `wherry envtest --kubernetes`, such as `1.29.4`; undefined: the newest. */
  readonly version: string | undefined;
  /** The process that started it. */
  readonly parent: number;
}

export async function runApiServer(args: readonly string[], host: ApiServerHost): Promise<void> {
  // Ignored: the reader of the output may be gone.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let values: FlagValues;
  try {
    values = readApiServerFlags(args);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    process.stderr.write(`Error: ${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const asked = lastOf(values, 'version');
  const problem = asked?.startsWith('v') ? versionProblem(asked) : undefined;
  if (problem) {
    process.stderr.write(
      `Error: invalid argument ${JSON.stringify(asked)} for "--version" flag: ${problem}\n`,
    );
    process.exitCode = 1;
  } else if (isTrue(values, 'help')) process.stdout.write(apiServerHelp());
  else if (asked !== undefined && !asked.startsWith('v'))
    process.stdout.write(apiServerVersion(asked, host.wherryVersion(), versionOf(host)));
  else {
    const fail = failing(values);
    await serve(values, host, fail).catch((error: Error) => fail(error.message));
  }
}

const formatOf = (values: FlagValues): 'text' | 'json' =>
  lastOf(values, 'logging-format') === 'json' ? 'json' : 'text';

/** A function that ends the process with a message. */
const failing =
  (values: FlagValues): ServerPlan['fail'] =>
  (message) => {
    process.stderr.write(failureLine(wallClock(), message, formatOf(values)));
    process.exit(1);
  };

async function serve(values: FlagValues, host: ApiServerHost, fail: ServerPlan['fail']): Promise<void> {
  const problems = problemsOf(values, host.version !== undefined || emulatedVersion(values) !== undefined);
  if (problems.length) fail(problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`);
  const log = (source: string, text: string): void =>
    void process.stderr.write(klogLine('I', wallClock(), source, text, formatOf(values)));
  if (Number(lastOf(values, 'v') ?? 0) > 0) log('server.go:150', `Version: ${versionOf(host)}`);
  const idle = apiServerFlags.filter(({ name, use }) => use === 'accept' && values.has(name));
  if (idle.length)
    log('options.go:1', `Flags without a meaning here: ${idle.map(({ name }) => `--${name}`).join(', ')}`);
  const etcds = listOf(values, 'etcd-servers');
  const pair = await findPair(etcds, findEtcdMaxMs, wallClock);
  const prefix = encodeURIComponent(lastOf(values, 'etcd-prefix') || '/registry');
  const plan: ServerPlan = {
    values,
    dataDir: path.join(pair.dataDir, 'wherry', prefix),
    requestBytesMax: pair.requestBytesMax,
    unsafeNoFsync: pair.unsafeNoFsync,
    controllers: controllersOf(values, host),
    version: host.version,
    log,
    fail,
  };
  const server = await serveInPlace(plan);
  host.started();
  followParent(host.parent, () => server.end());
  followEtcd(etcds, () => fail('the etcd of this server is gone'));
}

const versionOf = ({ version }: ApiServerHost): string =>
  version === undefined ? kubernetesVersion : `v${version}`;

/** The flag, else the variable, else what was given to `wherry envtest`. */
function controllersOf(values: FlagValues, { controllers }: ApiServerHost): string {
  const flag = listOf(values, 'wherry-controllers').join(',');
  return flag || process.env['WHERRY_ENVTEST_CONTROLLERS'] || controllers || 'cleanup';
}

function followEtcd(urls: readonly string[], gone: () => void): void {
  let missed = 0;
  const look = async (): Promise<void> => {
    missed = (await answers(urls)) ? 0 : missed + 1;
    if (missed >= etcdMissedMax) gone();
    else setTimeout(() => void look(), etcdLookMs).unref();
  };
  setTimeout(() => void look(), etcdLookMs).unref();
}
