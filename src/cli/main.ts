/** The `wherry` command. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { wallClock } from '../clock.ts';
import { startNode } from '../cluster/index.ts';
import { refuseStopped } from '../cluster/named/cluster-choice.ts';
import type { Progress } from '../cluster/store/backup.ts';
import type { AssetsLine } from '../envtest/assets.ts';
import { Ending } from '../program/ending.ts';
import { logged, runCluster, starter } from './cluster-command.ts';
import { exposeCollector } from './collector.ts';
import type { ImportLine, OpenLine, RecordLine } from './copy-lines.ts';
import { activityLog, logger } from './log.ts';
import {
  type BackupLine,
  type CleanupLine,
  type CompletionLine,
  type ConfigLine,
  completionQuestion,
  type DoctorLine,
  type KubeconfigLine,
  type NodeLine,
  readCommandLine,
  type TestLine,
  type TokenLine,
} from './options.ts';
import { ProgressLine } from './progress.ts';
import type { PastLine, ProblemsLine } from './question-lines.ts';
import { withPortAdvice } from './taken-port.ts';

/** Resolves when the command has started, or is over. Never throws: errors are printed to stderr and set the exit code. */
export async function runCommand(): Promise<void> {
  const ending = new Ending(process);
  await run(ending).catch((error: Error) => ending.fail(error));
}

async function run(ending: Ending): Promise<void> {
  // Do not end on EPIPE when the reader of the output has gone.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  exposeCollector();
  const line = readCommandLine(process.argv.slice(2), { environment: process.env });
  if (line.command === 'help')
    process.stdout.write((await import('./help.ts')).helpText(line.about, line.all));
  else if (line.command === 'version') process.stdout.write(`${packageVersion()}\n`);
  else if (line.command === 'completion' || line.command === completionQuestion) await runCompletion(line);
  else if (line.command === 'doctor') await runDoctor(line);
  else if (line.command === 'config') await runConfig(line);
  else if (line.command === 'node') await runNode(ending, line);
  else if (line.command === 'import') await runImport(line);
  else if (line.command === 'record') await runRecord(ending, line);
  else if (line.command === 'open') await runOpen(ending, line);
  else if (line.command === 'kubeconfig') await runKubeconfig(line);
  else if (line.command === 'cleanup') await runCleanup(line);
  else if (line.command === 'problems') await runProblems(line);
  else if ('past' in line) await runPast(line);
  else if (line.command === 'token') await runTokens(line);
  else if (line.command === 'envtest') await runEnvtest(line);
  else if (line.command === 'test') await runTests(line);
  else if ('target' in line) await runBackup(line);
  else if (line.command === 'snapshot')
    process.stdout.write(await (await import('./snapshot-command.ts')).runSnapshot(line));
  else if ('json' in line) await (await import('./lifecycle.ts')).runLifecycle(line, packageVersion());
  else await runCluster(ending, line, packageVersion);
}

/** The version in the package.json next to `dist/`. */
const packageVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
    .version;

async function runOpen(ending: Ending, { paths, options, log: form }: OpenLine): Promise<void> {
  const { openDump } = await import('../cluster/open-dump.ts');
  const { summaryText } = await import('./dump-summary.ts');
  const line = new ProgressLine(process.stderr, 'Reading');
  const { log: _activity, ...told } = logged({}, form);
  const dump = await ending.of(
    openDump(paths, { ...told, ...options, progress: (progress) => line.show(progress) }).finally(() =>
      line.end(),
    ),
  );
  process.stdout.write(summaryText(dump.summary));
  process.stdout.write(`Wherry is ready at ${dump.url}, ${options.writable ? 'writable' : 'read-only'}\n`);
  process.stdout.write(`Try: kubectl -s ${new URL(dump.url).host} get pods -A\n`);
}

async function runImport({ options }: ImportLine): Promise<void> {
  const { importCluster } = await import('../cluster/import-cluster.ts');
  const { importProgress, importText } = await import('./import-summary.ts');
  const line = new ProgressLine(process.stderr, 'Copying');
  const summary = await importCluster({
    ...options,
    progress: (progress) => line.showText(importProgress(progress)),
  }).finally(() => line.end());
  process.stdout.write(importText(summary, options));
}

async function runRecord(ending: Ending, { options, log: form }: RecordLine): Promise<void> {
  const { record } = await import('../cluster/record.ts');
  const line = new ProgressLine(process.stderr, 'Listing');
  const { onError, onWarning } = logged({}, form);
  const cluster = await ending.of(
    record({
      ...options,
      ...(onError && { onError }),
      onWarning,
      progress: ({ resource, kinds, kindsTotal }) =>
        line.showText(`${resource}, ${kinds + 1} of ${kindsTotal} kinds`),
    }).finally(() => line.end()),
  );
  process.stdout.write(`Recording ${cluster.source} into ${options.dataDir}\n`);
  process.stdout.write(`Wherry is ready at ${cluster.url}, read-only\n`);
  process.stdout.write(`Try: kubectl -s ${new URL(cluster.url).host} get pods -A\n`);
}

async function runKubeconfig(line: KubeconfigLine): Promise<void> {
  const { writeUserKubeconfig } = await import('../cluster/access/user-kubeconfig.ts');
  process.stdout.write(await writeUserKubeconfig(line));
}

async function runCompletion(line: CompletionLine): Promise<void> {
  const { completionText } = await import('./completion.ts');
  process.stdout.write(await completionText(line));
}

async function runConfig({ action, options }: ConfigLine): Promise<void> {
  const { beginConfig, checkedConfig, printedConfig, schemaText } = await import(
    '../cluster/config/config-command.ts'
  );
  const { fileForms, unknownVariables } = await import('./option-sources.ts');
  const forms = fileForms();
  const asked = options.flags.get('config')?.at(-1);
  if (action === 'init') process.stdout.write(beginConfig(asked, forms));
  else if (action === 'schema') process.stdout.write(schemaText(forms));
  else if (action === 'check')
    process.stdout.write(checkedConfig(options.file, unknownVariables(process.env)));
  else process.stdout.write(printedConfig(options, forms));
}

async function runDoctor(line: DoctorLine): Promise<void> {
  const { examine } = await import('../cluster/doctor/doctor.ts');
  const { machineProbe } = await import('../cluster/doctor/machine-probe.ts');
  const { text, isBad } = await examine(machineProbe(), line);
  process.stdout.write(text);
  process.exitCode = isBad ? 1 : 0;
}

async function runEnvtest(line: AssetsLine): Promise<void> {
  const { writeAssets } = await import('../envtest/assets.ts');
  const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const scripts = { etcd: script('envtest-etcd.cjs'), apiServer: script('envtest-apiserver.cjs') };
  process.stdout.write(writeAssets(line, scripts));
}

/**
 * Runs the tests. A signal during the start just ends the process, because there is nothing to close before the command
 * runs.
 */
async function runTests({ start: options, testing, log: form, program, keeps }: TestLine): Promise<void> {
  const { runTest } = await import('./test-run.ts');
  const begin = await starter(testing);
  const cluster = await begin(logged(options, form));
  await cluster.nodesReady;
  process.exit(await runTest({ cluster, program, keeps }));
}

async function runCleanup(line: CleanupLine): Promise<void> {
  const { cleanUp } = await import('../cluster/node/cleanup.ts');
  process.stdout.write(await cleanUp(line));
}

async function runProblems(line: ProblemsLine): Promise<void> {
  const { askProblems } = await import('../cluster/past/problems.ts');
  const { text, hasErrors } = await askProblems(line);
  process.stdout.write(text);
  if (hasErrors) process.exitCode = 1;
}

async function runPast(line: PastLine): Promise<void> {
  if (line.command === 'at') {
    const { askAt } = await import('../cluster/past/past-objects.ts');
    process.stdout.write(await askAt(line.past));
    return;
  }
  const { askHistory, askTimeline } = await import('../cluster/past/change-list.ts');
  process.stdout.write(await (line.command === 'history' ? askHistory(line.past) : askTimeline(line.past)));
}

async function runTokens(line: TokenLine): Promise<void> {
  const { runToken } = await import('../cluster/access/bootstrap-tokens.ts');
  refuseStopped(line.dataDir);
  const { text, warning } = await runToken(line);
  process.stdout.write(text);
  if (warning) process.stderr.write(`wherry: ${warning}\n`);
}

async function runNode(ending: Ending, { server, node: options, log: form }: NodeLine): Promise<void> {
  const log = logger(form, wallClock);
  const node = await ending.of(
    startNode(server, {
      ...options,
      join: { ...options.join, tell: (message) => void process.stderr.write(`wherry: ${message}\n`) },
      log: activityLog(form.level, log),
      onError: (error) => log('error', error.stack ?? error.message),
    }).catch((error: unknown) => {
      throw withPortAdvice(error, 'node', { port: 'off', node: options });
    }),
  );
  process.stdout.write(`${node.description}\nserver ${server}\n`);
}

async function runBackup({ command, file, server, target }: BackupLine): Promise<void> {
  const { backup, restore } = await import('../cluster/store/backup.ts');
  const line = new ProgressLine(process.stderr, command === 'backup' ? 'Backing up' : 'Restoring');
  const show = (progress: Progress): void => line.show(progress);
  if (command === 'backup') {
    const { objects, revision } = await backup(server, file, show).finally(() => line.end());
    process.stdout.write(`Backed up ${objects} objects at version ${revision} to ${file}\n`);
  } else {
    const { objects, revision, warning } = await restore(file, target, show).finally(() => line.end());
    process.stdout.write(
      `Restored ${objects} objects into ${'dataDir' in target ? target.dataDir : 'etcd'}; versions go on after ${revision}\n`,
    );
    if (warning) process.stderr.write(`wherry: ${warning}\n`);
  }
}
