/** `wherry up` and `wherry serve`: starts a cluster, prints what it offers, and keeps its record. */

import { wallClock } from '../clock.ts';
import { type Cluster, StartError, type StartOptions, start } from '../cluster/index.ts';
import { type Choice, chooseCluster } from '../cluster/named/cluster-choice.ts';
import {
  type ClusterRecord,
  logFile,
  readRecord,
  recordFolder,
  removeRecord,
} from '../cluster/named/cluster-record.ts';
import { ClusterRun, refuseRunning } from '../cluster/named/cluster-run.ts';
import { platform } from '../platform.ts';
import type { Ending } from '../program/ending.ts';
import { Background, backgroundLine, startInBackground } from './background.ts';
import { activityLog, logger } from './log.ts';
import type { NamedUp } from './named-line.ts';
import type { ClusterLine, LogForm } from './options.ts';
import { withPortAdvice } from './taken-port.ts';
import { ticked } from './terminal.ts';

/** The options of a cluster, with functions that write to the log. */
export function logged(
  options: StartOptions,
  form: LogForm,
): StartOptions & { readonly onWarning: (message: string) => void } {
  const log = logger(form, wallClock);
  return {
    ...options,
    // A sentence for people needs no stack.
    onError: (error) =>
      log('error', error instanceof StartError ? error.message : (error.stack ?? error.message)),
    onWarning: (message) => log('warn', message),
    log: activityLog(form.level, log),
  };
}

/** The function that starts a cluster, with the test kit or without. */
export const starter = async (
  testing: boolean,
): Promise<(options: StartOptions) => ReturnType<typeof start>> =>
  testing ? (await import('../testing/testing-server.ts')).startTestingServer : start;

/** @param version of this command */
export async function runCluster(ending: Ending, line: ClusterLine, version: () => string): Promise<void> {
  const { command, start: given, testing, log: form, named, file } = line;
  if (named?.detached) return detach(named, version());
  const started = await starter(testing);
  const begin = (options: StartOptions) =>
    started(options).catch((error: unknown) => {
      throw withPortAdvice(error, command, options);
    });
  if (command === 'up') return new UpCommand(ending, line, version()).run(begin);
  const cluster = await ending.of(
    begin({ ...logged(given, form), onFatal: (error) => ending.failRunning(error) }),
  );
  process.stdout.write(`Wherry is ready at ${cluster.url}\n${fileLine(file)}${secureLines(cluster, given)}`);
  if (!given.manifests && !given.kustomizations) return;
  process.stdout.write(`${await settled(cluster)}\n`);
}

const fileLine = (file: string | undefined): string => (file === undefined ? '' : `Options from ${file}\n`);

/** The lines about nodes and manifests. Without these the cluster is not what was requested: it is closed. */
async function settled(cluster: Cluster): Promise<string | undefined> {
  return cluster.nodesReady.catch(async (error: Error) => {
    await cluster.close();
    throw error;
  });
}

/** Starts this command again in the background. @param version of this command */
async function detach(
  { name, dataDir, args, inMemory, uses, json }: NamedUp,
  version: string,
): Promise<void> {
  const choice = chooseCluster({ name, dataDir });
  refuseRunning(choice);
  const folder = choice.isLocal && !inMemory ? ['--data-dir', choice.dataDir] : [];
  const words = ['up', '--name', choice.name, ...folder, ...(uses ? ['--use'] : []), ...args];
  const print = (text: string): void => void (json || process.stdout.write(text));
  if (folder.length) print(localLine(choice));
  const warn = (text: string): void => void process.stderr.write(text);
  await startInBackground(words, logFile(choice.name), process.cwd(), print, warn).catch((error: Error) => {
    if (!readRecord(choice.name)) removeRecord(choice.name);
    throw error;
  });
  if (json) return (await import('./lifecycle.ts')).printState(choice.name, version);
  print(backgroundLine(choice.name));
}

const localLine = ({ name, dataDir }: Choice): string =>
  `Using the data folder ${dataDir}, as the cluster ${name}\n`;

/** How often ports are chosen, when other processes are faster to take them. */
const choicesMax = 5;

interface Started {
  readonly cluster: Cluster;
  readonly options: StartOptions;
  /** Undefined for a cluster without a name. */
  readonly run: ClusterRun | undefined;
}

class UpCommand {
  readonly #background = Background.here();

  constructor(
    private readonly ending: Ending,
    private readonly line: ClusterLine,
    private readonly version: string,
  ) {}

  async run(begin: (options: StartOptions) => Promise<Cluster>): Promise<void> {
    const starting = this.#started(begin);
    const closable = starting.then(({ cluster, run }) => this.#closable(cluster, run));
    this.ending.of(closable, this.#stoppingLine(0)).catch(() => undefined);
    const { cluster, options, run } = await starting.catch((error: Error) => {
      this.#background?.tell({ failed: error.message });
      throw error;
    });
    try {
      await this.#tell(cluster, options, run);
    } catch (error) {
      run?.fail();
      throw error;
    }
    this.#background?.done();
  }

  /** Starts the cluster, with other ports if another process has taken those that were chosen meanwhile. */
  async #started(begin: (options: StartOptions) => Promise<Cluster>): Promise<Started> {
    const { start: given, log: form, named } = this.line;
    for (let choices = 1; ; choices++) {
      const run = named && (await this.#taken(named));
      const options = run ? run.options(given) : given;
      const onFatal = (error: Error): void => {
        run?.update({ failure: error.message });
        this.ending.failRunning(error);
      };
      try {
        const { onWarning: log, ...rest } = logged(options, form);
        const onWarning = (message: string): void => {
          log(message);
          this.#background?.tell({ warn: `wherry: ${message}\n` });
        };
        return { cluster: await begin({ ...rest, onWarning, onFatal }), options, run };
      } catch (error) {
        run?.fail();
        if (choices === choicesMax || !run?.isOutrun(error)) throw error;
      }
    }
  }

  async #taken(named: NamedUp): Promise<ClusterRun> {
    const { version } = this;
    const run = await ClusterRun.take({ ...named, cwd: process.cwd(), version, log: this.#background?.log });
    if (run.choice.isLocal) this.#print(localLine(run.choice));
    return run;
  }

  #closable(cluster: Cluster, run: ClusterRun | undefined) {
    return {
      closingLine: () => this.#stoppingLine(cluster.podsRunning),
      get closingPart() {
        return cluster.closingPart;
      },
      close: async () => {
        await cluster.close();
        run?.end();
      },
    };
  }

  /** A log in the background has no keys that could be pressed. */
  #stoppingLine(pods: number): string {
    const what = pods === 0 ? '' : ` ${pods} ${pods === 1 ? 'pod' : 'pods'}`;
    return `Stopping${what}${this.#background ? '' : ', Ctrl-C again to leave at once'}\n`;
  }

  /** Prints what has started, in the order in which it can be used. */
  async #tell(cluster: Cluster, options: StartOptions, run: ClusterRun | undefined): Promise<void> {
    const apiTime = secondsSoFar();
    run?.update({ ...addressesOf(cluster), ...run.rangesOf(options) });
    this.#printStep(`Wherry is ready at ${cluster.url}\n`);
    this.#print(fileLine(this.line.file));
    this.#print(secureLines(cluster, options));
    const context = run && (await this.#mergeContext(cluster, run));
    const description = await settled(cluster);
    if (description) this.#print(`${description}\n`);
    if (run) this.#print(chosenLine(run));
    this.#printStep(`Ready after ${secondsSoFar()} s, the API after ${apiTime} s\n`);
    this.#print(`Try: kubectl ${reaching(cluster, options, context)} get nodes\n`);
    // Ignored: failed checks of the machine must not end a running cluster.
    await this.#printFindings(options, cluster.url).catch(() => undefined);
  }

  /** Prints findings of the doctor, after the start, which they must not delay. */
  async #printFindings({ dataDir = '.' }: StartOptions, url: string): Promise<void> {
    const { startFindings } = await import('../cluster/doctor/doctor.ts');
    const { machineProbe } = await import('../cluster/doctor/machine-probe.ts');
    for (const line of await startFindings(machineProbe(), { dataDir, port: portOf(url) }))
      this.#print(`${line}\n`);
  }

  /** Adds the context to the user's kubeconfig; returns its name if it is there now. */
  async #mergeContext(cluster: Cluster, run: ClusterRun): Promise<string | undefined> {
    const { uses, keepsKubeconfig } = this.line.named!;
    if (keepsKubeconfig || this.ending.isClosing) return undefined;
    const { contextEntry, mergeContext } = await import('../cluster/access/kubeconfig-file.ts');
    const { name } = run.record;
    const text = cluster.secureUrl === undefined ? cluster.kubeconfig : cluster.kubeconfigFor('wherry-admin');
    try {
      const entry = contextEntry(name, recordFolder(name), text);
      const { file, isCurrent } = await mergeContext(entry, uses);
      run.update({ context: { name: entry.context, file } });
      this.#print(`Context ${entry.context} in ${file}${isCurrent ? ', which is the current one' : ''}\n`);
      return entry.context;
    } catch (error) {
      this.#warn(`wherry: no context was made: ${(error as Error).message}\n`);
      return undefined;
    }
  }

  /** A step that was reached: with a tick on a terminal, also on that of a command in front of this one. */
  #printStep(text: string): void {
    if (this.ending.isClosing) return;
    process.stdout.write(ticked(text));
    this.#background?.tell({ print: text, isStep: true });
  }

  #print(text: string): void {
    if (this.ending.isClosing) return;
    process.stdout.write(text);
    if (text) this.#background?.tell({ print: text });
  }

  #warn(text: string): void {
    process.stderr.write(text);
    this.#background?.tell({ warn: text });
  }
}

/** Seconds since the process was started, or since `npm start` had installed and built (see scripts/start.mjs). */
function secondsSoFar(): string {
  const [begun] = performance.getEntriesByName('wherry begins');
  return ((performance.now() - (begun?.startTime ?? 0)) / 1_000).toFixed(2);
}

const portOf = (url: string): number => Number(new URL(url).port || (url.startsWith('https:') ? 443 : 80));

function addressesOf({ url, secureUrl }: Cluster): Partial<ClusterRecord> {
  return {
    url,
    ...(url.startsWith('http:') ? { port: portOf(url) } : {}),
    ...(secureUrl === undefined ? {} : { secureUrl, securePort: portOf(secureUrl) }),
  };
}

function chosenLine({ record: { name, dataDir, inMemory, serviceRange, podRange } }: ClusterRun): string {
  const ranges = [serviceRange && `services ${serviceRange}`, podRange && `pods ${podRange}`].filter(Boolean);
  return `Cluster ${name}: ${[`data in ${inMemory ? 'memory' : dataDir}`, ...ranges].join(', ')}\n`;
}

/** Lines about the secure door and its administrator. */
function secureLines({ secureUrl, kubeconfigFile }: Cluster, { secure, port }: StartOptions): string {
  if (secureUrl === undefined) return '';
  const wanted = typeof secure === 'object' ? secure.port : undefined;
  const taken = wanted && portOf(secureUrl) !== wanted ? ` (port ${wanted} is taken)` : '';
  const where = port === 'off' && !taken ? '' : `Secure door at ${secureUrl}${taken}\n`;
  return where + (kubeconfigFile === undefined ? '' : `Administrator's kubeconfig: ${kubeconfigFile}\n`);
}

/** Flags by which kubectl reaches the cluster, whatever the user's kubeconfig says. */
function reaching(
  { url, kubeconfigFile }: Cluster,
  { port }: StartOptions,
  context: string | undefined,
): string {
  if (context !== undefined) return `--context ${context}`;
  if (kubeconfigFile !== undefined || port === 'off')
    return `--kubeconfig ${quoted(kubeconfigFile ?? 'FILE')}`;
  return `--kubeconfig ${platform.isWindows ? 'NUL' : '/dev/null'} -s ${url}`;
}

/** A word for a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./\\-]+$/.test(word)
    ? word
    : platform.isWindows
      ? `"${word}"`
      : `'${word.replaceAll("'", `'\\''`)}'`;
