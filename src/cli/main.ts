#!/usr/bin/env node
/** The `wherry` command. */
import { readFileSync } from 'node:fs';
import { StartError, start, startNode } from '../cluster/index.ts';
import { StoreUnavailableError } from '../store/store.ts';
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

async function main(): Promise<void> {
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
  const cluster = await start({
    ...options,
    onError: (error) => log('error', error.stack ?? error.message),
    onWarning: (message) => log('warn', message),
  });
  closeOnSignal(cluster);
  process.stdout.write(`Wherry is ready at ${cluster.url}\n`);
  if (command !== 'up') return;
  const description = await cluster.nodesReady;
  if (description) process.stdout.write(`${description}\n`);
  process.stdout.write(`Try: kubectl -s ${new URL(cluster.url).host} get nodes\n`);
}

async function runNode({ server, node: options, logLevel }: NodeLine): Promise<void> {
  const node = await startNode(server, { ...options, onError: reporting(logLevel) });
  closeOnSignal(node);
  process.stdout.write(`${node.description}, of ${server}\n`);
}

async function runBackup({ command, file, server, dataDir }: BackupLine): Promise<void> {
  const { backup, restore } = await import('../cluster/backup.ts');
  if (command === 'backup') {
    const { objects, revision } = await backup(server, file);
    process.stdout.write(`Backed up ${objects} objects at version ${revision} to ${file}\n`);
  } else {
    const { objects, revision } = await restore(file, dataDir);
    process.stdout.write(`Restored ${objects} objects into ${dataDir}; versions go on after ${revision}\n`);
  }
}

function closeOnSignal(running: { close(): Promise<void> }): void {
  let closing = false;
  const close = (): void => {
    // Who asks twice wants it now.
    if (closing) process.exit(1);
    closing = true;
    running.close().then(
      () => process.exit(0),
      (error: Error) => fail(error),
    );
  };
  process.on('SIGTERM', close);
  process.on('SIGINT', close);
}

function fail(error: Error): never {
  const expected =
    error instanceof UsageError || error instanceof StartError || error instanceof StoreUnavailableError;
  process.stderr.write(`wherry: ${expected ? error.message : (error.stack ?? error.message)}\n`);
  process.exit(1);
}

main().catch(fail);
