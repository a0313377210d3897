/** The `wherry` command. */
import { readFileSync } from 'node:fs';
import type { Progress } from '../cluster/backup.ts';
import { StartError, start, startNode } from '../cluster/index.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { exposeCollector } from './collector.ts';
import { logger } from './log.ts';
import {
  type BackupLine,
  type ClusterLine,
  help,
  type LogLevel,
  type NodeLine,
  readCommandLine,
  UsageError,
} from './options.ts';
import { ProgressLine } from './progress.ts';

/** A close that takes longer is given up when a failure has led to it. */
const lastCloseMs = 10_000;

/** Never throws: what goes wrong is a line on stderr, and the code of the process. */
export function runCommand(): void {
  run().catch((error: Error) => {
    if (!ending) fail(error);
  });
}

async function run(): Promise<void> {
  // Output that nobody reads any more is no reason to end.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  exposeCollector();
  const line = readCommandLine(process.argv.slice(2));
  if (line.command === 'help') process.stdout.write(help);
  else if (line.command === 'version') process.stdout.write(`${packageVersion()}\n`);
  else if (line.command === 'node') await runNode(line);
  else if ('file' in line) await runBackup(line);
  else await runCluster(line);
}

/** The built command stands in `dist/`, next to which the package describes itself. */
const packageVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
    .version;

const reporting = (logLevel: LogLevel): ((error: Error) => void) => {
  const log = logger(logLevel);
  return (error) => log('error', error.stack ?? error.message);
};

async function runCluster({ command, start: options, logLevel }: ClusterLine): Promise<void> {
  const log = logger(logLevel);
  const cluster = await runUntilEnded(
    start({
      ...options,
      onError: (error) => log('error', error.stack ?? error.message),
      onWarning: (message) => log('warn', message),
    }),
  );
  process.stdout.write(`Wherry is ready at ${cluster.url}\n`);
  if (command !== 'up') return;
  const description = await cluster.nodesReady.catch(async (error: Error) => {
    // A cluster without its node is not what was asked for; nothing of it stays.
    await cluster.close();
    throw error;
  });
  if (description) process.stdout.write(`${description}\n`);
  process.stdout.write(`Try: kubectl -s ${new URL(cluster.url).host} get nodes\n`);
}

async function runNode({ server, node: options, logLevel }: NodeLine): Promise<void> {
  const node = await runUntilEnded(startNode(server, { ...options, onError: reporting(logLevel) }));
  process.stdout.write(`${node.description}\nserver ${server}\n`);
}

async function runBackup({ command, file, server, dataDir }: BackupLine): Promise<void> {
  const { backup, restore } = await import('../cluster/backup.ts');
  const line = new ProgressLine(process.stderr, command === 'backup' ? 'Backing up' : 'Restoring');
  const show = (progress: Progress): void => line.show(progress);
  const working = command === 'backup' ? backup(server, file, show) : restore(file, dataDir, show);
  const { objects, revision } = await working.finally(() => line.end());
  process.stdout.write(
    command === 'backup'
      ? `Backed up ${objects} objects at version ${revision} to ${file}\n`
      : `Restored ${objects} objects into ${dataDir}; versions go on after ${revision}\n`,
  );
}

/** Whether the process is on its way out: what fails then is nobody's concern. */
let ending = false;

/** Whatever ends the process from now on closes what was started first, also while it is still starting. */
async function runUntilEnded<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= starting.then(
      (running) => running.close(),
      () => undefined,
    );
    return closing;
  };
  const closeAndExit = (): void => {
    // Who asks twice wants it now.
    if (ending) process.exit(1);
    ending = true;
    close().then(() => process.exit(0), fail);
  };
  // A terminal that is closed sends the last of them.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, closeAndExit);
  process.on('uncaughtException', (error) => {
    ending = true;
    const late = setTimeout(() => fail(error), lastCloseMs);
    void close()
      .catch(() => undefined)
      .then(() => clearTimeout(late))
      .then(() => fail(error));
  });
  return starting;
}

function fail(error: Error): never {
  const expected =
    error instanceof UsageError || error instanceof StartError || error instanceof StoreUnavailableError;
  process.stderr.write(`wherry: ${expected ? error.message : (error.stack ?? error.message)}\n`);
  process.exit(1);
}
