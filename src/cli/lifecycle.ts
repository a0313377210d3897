/** Commands about clusters that run elsewhere: list, status, stop, delete, logs and restart. */
import { existsSync, readFileSync, watch } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { setTimeout } from 'node:timers/promises';
import { StartError } from '../cluster/index.ts';
import { knownCluster } from '../cluster/named/cluster-choice.ts';
import {
  allRecords,
  type ClusterRecord,
  isInMemory,
  logFile,
  readRecord,
  recordFolder,
  removeRecord,
} from '../cluster/named/cluster-record.ts';
import { type ClusterState, runningProcess, stateOf } from '../cluster/named/cluster-state.ts';
import { removeOwnFiles } from '../cluster/named/data-removal.ts';
import { cleanUp } from '../cluster/node/cleanup.ts';
import { escapedLines, terminalJson } from '../cluster/shared/terminal-text.ts';
import { cacheFolder } from '../program/code-cache.ts';
import { TextLines } from '../text-lines.ts';
import { backgroundLine, startInBackground } from './background.ts';
import { coloured, table } from './terminal.ts';

/** How long a cluster may take to end: pods get their grace period. */
const stopMaxMs = 120_000;
const stopLookMs = 50;
/** Polling interval of a log where the system does not report changes. */
const logLookMs = 500;

export interface LifecycleLine {
  readonly command: 'list' | 'status' | 'stop' | 'delete' | 'logs' | 'restart';
  readonly name: string | undefined;
  readonly json: boolean;
  /** Whether to lose objects without asking. */
  readonly sure: boolean;
  /** Delete every cluster. */
  readonly all: boolean;
  /** Go on with what is logged later. */
  readonly follows: boolean;
}

const print = (text: string): void => void process.stdout.write(text);
const printJson = (value: unknown): void => print(terminalJson(value, 2));

/** @param version of this command */
export async function runLifecycle(line: LifecycleLine, version: string): Promise<void> {
  if (line.command === 'list') return list(line, version);
  if (line.all) return removeAll(line);
  const record = knownCluster(line.name);
  if (line.command === 'status') return status(record, line, version);
  if (line.command === 'stop') return stop(record, line, version);
  if (line.command === 'restart') return restart(record, line, version);
  if (line.command === 'logs') return logs(record, line);
  return remove(record, line);
}

async function list({ json }: LifecycleLine, version: string): Promise<void> {
  const states = await Promise.all(allRecords().map((record) => stateOf(record, version)));
  if (json) return printJson(states.map(described));
  if (!states.length) return print('There are no clusters; wherry up -d starts one\n');
  const rows = states.map(({ name, status: what, pid, record }) => [
    name,
    what,
    (pid === undefined ? undefined : record.url) ?? '-',
    record.version ?? '-',
    isInMemory(record) ? 'in memory' : record.dataDir!,
  ]);
  const heads = ['NAME', 'STATUS', 'API', 'VERSION', 'DATA'];
  print(table([heads, ...rows], (cell, column) => (column === 1 ? statusText(cell) : cell)));
}

const statusText = (text: string): string =>
  text === 'running'
    ? coloured(text, 'green')
    : text === 'missing'
      ? coloured(text, 'red')
      : text === 'starting' || text === 'unready'
        ? coloured(text, 'yellow')
        : text;

function folderText(record: ClusterRecord): string {
  const { dataDir } = record;
  if (!isInMemory(record)) return dataDir!;
  const former = dataDir === undefined ? '' : `; those of an earlier start are in ${dataDir}`;
  return `none: objects are in memory${former}`;
}

/** The JSON of a cluster for `-o json`. */
function described({ name, status: what, notes, pid, record }: ClusterState): Record<string, unknown> {
  const { process: _process, boot: _boot, args, cwd, ...known } = record;
  return { ...known, name, status: what, pid: pid ?? null, notes, startedWith: { args, cwd } };
}

async function status(record: ClusterRecord, { json }: LifecycleLine, version: string): Promise<void> {
  const state = await stateOf(record, version);
  if (json) return printJson(described(state));
  const { pid, notes } = state;
  const { name, url, secureUrl, log, context, startedAt, serviceRange, podRange } = record;
  const isUp = pid !== undefined;
  const rows: (readonly [string, string | undefined])[] = [
    ['cluster', name],
    ['status', statusText(state.status)],
    ...notes.map((note) => ['note', note] as const),
    ['process', pid === undefined ? undefined : String(pid)],
    ['started', isUp ? startedAt : undefined],
    ['version', record.version],
    ['API', isUp ? url : undefined],
    ['secure door', isUp ? secureUrl : undefined],
    ['data folder', folderText(record)],
    ['log', log !== undefined && existsSync(log) ? log : undefined],
    ['context', context && `${context.name} in ${context.file}`],
    ['services', serviceRange],
    ['pods', podRange],
  ];
  print(table(rows.filter(([, value]) => value !== undefined) as [string, string][]));
}

/** Ends the process of a cluster; false when none runs. */
async function end(record: ClusterRecord, say: (text: string) => void): Promise<boolean> {
  const pid = runningProcess(record);
  if (pid === undefined) return false;
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') throw new StartError(`process ${pid} of ${record.name} belongs to another user`);
    if (code !== 'ESRCH') throw error;
  }
  say(`Stopping ${record.name} (process ${pid})\n`);
  for (let waitedMs = 0; runningProcess(record) !== undefined; waitedMs += stopLookMs) {
    if (waitedMs >= stopMaxMs)
      throw new StartError(`process ${pid} of ${record.name} has not ended in ${stopMaxMs / 1_000} seconds`);
    await setTimeout(stopLookMs);
  }
  return true;
}

async function stop(record: ClusterRecord, { json }: LifecycleLine, version: string): Promise<void> {
  const { name } = record;
  const ended = await end(record, json ? () => undefined : print);
  const state = await stateOf(readRecord(name) ?? record, version);
  if (json) return printJson(described(state));
  const lost = isInMemory(record) ? '; its objects were in memory, and are gone' : '';
  const why = state.notes.map((note) => `: ${note}`).join('');
  print(ended ? `Stopped ${name}${lost}\n` : `${name} does not run${why}\n`);
}

async function restart(record: ClusterRecord, { json, sure }: LifecycleLine, version: string): Promise<void> {
  const { name, args = [], cwd = '' } = record;
  const say = json ? () => undefined : print;
  const isLosing = isInMemory(record) && runningProcess(record) !== undefined;
  const question = `Restart ${name}, which begins without its objects, because they are in memory?`;
  if (isLosing && !sure && !(await isSure(question, `restart ${name}`))) return say(`${name} stays\n`);
  await end(record, say);
  const words = ['up', '--name', name, ...args];
  const warn = (text: string): void => void process.stderr.write(text);
  await startInBackground(words, logFile(name), existsSync(cwd) ? cwd : recordFolder(name), say, warn);
  if (json) return printState(name, version);
  print(backgroundLine(name));
}

/** Prints the state of a cluster as JSON. @param version of this command */
export async function printState(name: string, version: string): Promise<void> {
  printJson(described(await stateOf(knownCluster(name), version)));
}

async function remove(record: ClusterRecord, { json, sure }: LifecycleLine): Promise<void> {
  const { name, dataDir } = record;
  const what = dataDir === undefined ? 'which is in memory' : `with all its data in ${dataDir}`;
  const say = json ? () => undefined : print;
  if (!sure && !(await isSure(`Delete the cluster ${name}, ${what}?`, `delete ${name}`)))
    return say(`${name} stays\n`);
  const deleted = await removed(record, say);
  if (json) printJson(deleted);
}

/** Deletes all clusters, and what is kept between starts: nothing of this user is left then. */
async function removeAll({ json, sure }: LifecycleLine): Promise<void> {
  const records = allRecords();
  const cache = cacheFolder(process);
  const say = json ? () => undefined : print;
  const names = records.map(({ name }) => name).join(', ');
  const what = names ? `all clusters with their data: ${names}` : 'the cache; there are no clusters';
  if (!sure && !(await isSure(`Delete ${what}?`, 'delete --all'))) return say('All stay\n');
  const deleted = [];
  for (const record of records) deleted.push(await removed(record, say));
  const isCached = cache !== undefined && existsSync(cache);
  if (isCached) await rm(cache, { recursive: true, force: true });
  if (json) return printJson({ clusters: deleted, cache: isCached ? cache : null });
  if (isCached) print(`Deleted the cache ${cache}\n`);
}

async function removed(record: ClusterRecord, say: (text: string) => void): Promise<object> {
  const { name, dataDir, context } = record;
  await end(record, say);
  if (dataDir !== undefined && existsSync(dataDir)) {
    await removeContainers(dataDir);
    await removeOwnFiles(dataDir, recordFolder(name));
  }
  const { removeContext } = await import('../cluster/access/kubeconfig-file.ts');
  const kubeconfigs = context ? await removeContext(context.name, recordFolder(name), [context.file]) : [];
  removeRecord(name);
  say(`Deleted ${name}${kubeconfigs.length ? `, and its context in ${kubeconfigs.join(', ')}` : ''}\n`);
  return { name, status: 'deleted', dataDir, kubeconfigs };
}

/** @param words the command that asks, without `--yes` */
async function isSure(question: string, words: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new StartError(`${words.split(' ')[0]} asks on a terminal; elsewhere say wherry ${words} --yes`);
  const asked = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await answerTo(asked, `${question} [y/N] `)).trim());
  } finally {
    asked.close();
  }
}

/** What is typed; empty when it is Ctrl-C, or Ctrl-D, after which the promise of Node would stay open. */
function answerTo(asked: Interface, question: string): Promise<string> {
  return new Promise((resolve) => {
    const leave = (): void => {
      print('\n');
      resolve('');
    };
    asked.once('close', leave).once('SIGINT', leave);
    asked.question(question).then((answer) => {
      asked.off('close', leave);
      resolve(answer);
    }, leave);
  });
}

/** Removes containers, only where an engine has been used; an engine that does not answer does not prevent deletion. */
async function removeContainers(dataDir: string): Promise<void> {
  const engines = await readdir(path.join(dataDir, 'node')).catch((): string[] => []);
  if (!engines.includes('docker') && !engines.includes('cri')) return;
  try {
    await cleanUp({ dataDir, dockerSocket: undefined, criSocket: undefined, all: false });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    process.stderr.write(`wherry: containers may be left: ${error.message}\n`);
  }
}

/** The log as JSON has parts of what users wrote as they are. */
const printLog = (text: string): void => print(escapedLines(text));

async function logs({ name, log }: ClusterRecord, { follows, json }: LifecycleLine): Promise<void> {
  if (log === undefined || !existsSync(log))
    throw new StartError(`${name} has no log: it was not started in the background (wherry up -d)`);
  if (json && !follows) {
    const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1);
    return printJson({ name, file: log, lines });
  }
  const whole = new TextLines(Number.POSITIVE_INFINITY);
  const printLines = (text: string): void => {
    for (const line of whole.take(text)) print(terminalJson({ line }));
  };
  await shown(log, follows, json ? printLines : printLog);
}

async function shown(log: string, follows: boolean, show: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let at = 0;
  const changed = new Changes(log);
  let isRead = true;
  // As with `wherry logs -f | head`.
  process.stdout.once('error', () => {
    isRead = false;
    changed.close();
  });
  for (;;) {
    const file = await open(log).catch(() => undefined);
    if (!file) return;
    const { size } = await file.stat();
    // The log was emptied, after its lines were moved to another file.
    if (size < at) at = 0;
    for await (const part of file.createReadStream({ start: at })) {
      at += (part as Buffer).length;
      show(decoder.decode(part as Buffer, { stream: true }));
    }
    if (!follows) return changed.close();
    await changed.next();
    if (!isRead) return;
  }
}

/** Reports changes of a file, by the system's notifications or by polling. */
class Changes {
  #wake: () => void = () => undefined;
  #missed = false;
  readonly #watcher;

  constructor(file: string) {
    this.#watcher = watch(file, () => {
      this.#missed = true;
      this.#wake();
    }).on('error', () => undefined);
  }

  async next(): Promise<void> {
    if (!this.#missed)
      await Promise.race([
        setTimeout(logLookMs),
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
      ]);
    this.#missed = false;
  }

  close(): void {
    this.#watcher.close();
    this.#missed = true;
    this.#wake();
  }
}
