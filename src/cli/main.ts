#!/usr/bin/env node
/** The `wherry` command. */
import { readFileSync } from 'node:fs';
import { type Cluster, StartError, start } from '../cluster/index.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { logger } from './log.ts';
import { type CommandLine, help, readCommandLine, UsageError } from './options.ts';

async function main(): Promise<void> {
  const line = readCommandLine(process.argv.slice(2));
  if (line.command === 'help') process.stdout.write(help);
  else if (line.command === 'version') process.stdout.write(`${packageVersion()}\n`);
  else await run(line);
}

/** The built command stands in `dist/`, next to which the package describes itself. */
const packageVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
    .version;

async function run({ command, start: options, logLevel }: CommandLine): Promise<void> {
  const log = logger(logLevel);
  const cluster = await start({
    ...options,
    ...(command === 'up' ? { node: true } : { controllers: false }),
    onError: (error) => log('error', error.stack ?? error.message),
  });
  closeOnSignal(cluster);
  process.stdout.write(`Wherry is ready at ${cluster.url}\n`);
  if (command !== 'up') return;
  const description = await cluster.nodesReady;
  if (description) process.stdout.write(`${description}\n`);
  process.stdout.write(`Try: kubectl -s ${new URL(cluster.url).host} get nodes\n`);
}

function closeOnSignal(cluster: Cluster): void {
  let closing = false;
  const close = (): void => {
    // Who asks twice wants it now.
    if (closing) process.exit(1);
    closing = true;
    cluster.close().then(
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
