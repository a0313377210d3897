/**
 * `npm run test:machines`: the parts of the suite that meet the machine, on machines that are not this one: without
 * /proc, without root, with busybox alone, in other zones and languages, in odd paths, with the code for macOS and Windows.
 * Views of the file system take root on Linux. What cannot run on this machine fails, and says what it takes.
 *
 *   npm run test:machines -- --list              says which conditions there are, and what each leaves out and why
 *   npm run test:machines -- proc user           runs under these alone
 *   npm run test:machines -- proc --in test/cli  runs the files of this folder, also of one that is not in the list
 *   npm run test:machines -- proc --built        takes what was installed and built before
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { installPackages, run } from './install.mjs';
import { conditions, everywhere, folders } from './machines/conditions.mjs';
import { machineTools, prepareTools, tell } from './tools.mjs';

const root = path.dirname(import.meta.dirname);
process.chdir(root);
const { names, list, chosen, built } = readOptions();
if (list) {
  for (const name of names) describe(name);
  process.exit();
}
if (!built) {
  await installPackages();
  run(process.execPath, ['scripts/build.mjs'], 'the build failed');
}
const tools = built ? {} : await prepareTools(machineTools);
const rows = names.map(runUnder);
for (const { name, line } of rows) tell(`${name}: ${line}`);
process.exit(rows.every(({ passed }) => passed) ? 0 : 1);

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean' },
      built: { type: 'boolean' },
      in: { type: 'string', multiple: true },
    },
  });
  const unknown = positionals.find((name) => !Object.hasOwn(conditions, name));
  if (unknown !== undefined) {
    tell(`There is no condition ${unknown}; there are ${Object.keys(conditions).join(', ')}`);
    process.exit(1);
  }
  const all = positionals.length ? positionals : Object.keys(conditions);
  return { names: all, list: values.list, built: values.built, chosen: values.in };
}

/** Test files of the suite, and of each whether and why a condition leaves it out. */
function filesOf(condition) {
  const rules = [...everywhere, ...condition.leftOut];
  const starts = chosen ?? [...folders, ...(condition.also ?? [])];
  return ['src', 'test']
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.test.ts') && starts.some((start) => file.startsWith(start)))
    .sort()
    .map((file) => ({ file, reason: rules.find(([pattern]) => pattern.test(file))?.[1] }));
}

function describe(name) {
  const files = filesOf(conditions[name]);
  const left = files.filter(({ reason }) => reason);
  tell(`${name}: ${conditions[name].says}; ${files.length - left.length} files`);
  for (const { file, reason } of left) tell(`  not ${file}: ${reason}`);
}

/** Runs the suite under a condition; a line with what it came to. */
function runUnder(name) {
  const condition = conditions[name];
  const obstacle = obstacleOf(condition);
  if (obstacle) return { name, passed: false, line: `NOT RUN, it takes ${obstacle}` };
  tell(`\n${name}: ${condition.says}`);
  // Short, because paths of sockets have at most 107 bytes.
  const scratch = mkdtempSync('/tmp/wm-');
  chmodSync(scratch, 0o755);
  try {
    const result = runIn(condition, scratch);
    return { name, ...result };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** What this machine lacks for a condition. */
function obstacleOf({ shell, uid, checkout, needs }) {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
  if ((shell || uid !== undefined || checkout) && !isRoot) return 'root on Linux';
  return needs?.();
}

function runIn(condition, scratch) {
  const { shell = '', after, checkout, environment, uid } = condition;
  const files = filesOf(condition).filter(({ reason }) => !reason);
  const folder = checkout ? path.join(scratch, checkout) : root;
  const variables = { TMPDIR: path.join(scratch, 'tmp'), ...environment?.({ scratch, folder }) };
  // Outside of TMPDIR, which may be in a view of the file system that ends with the tests.
  const output = path.join(scratch, 'report/report.json');
  for (const one of new Set([folder, variables.TMPDIR, path.dirname(output)])) {
    mkdirSync(one, { recursive: true });
    if (one !== root && uid !== undefined) chownSync(one, uid, uid);
  }
  const steps = [
    'set -e',
    ...(checkout ? ['mount --bind "$ROOT" "$FOLDER"'] : []),
    shell,
    'cd "$FOLDER"',
    after ? `status=0; "$0" "$@" || status=$?; cd /; ${after}; exit $status` : 'exec "$0" "$@"',
  ];
  const own = shell || checkout ? ['unshare', '-m', 'sh', '-c', steps.join('\n')] : [];
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--configLoader=runner'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${output}`];
  const [program, ...args] = [...own, ...vitest, ...reporters, ...files.map(({ file }) => file)];
  const { status } = spawnSync(program, args, {
    stdio: 'inherit',
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: {
      ...process.env,
      ...tools,
      HOME: variables.TMPDIR,
      ROOT: root,
      FOLDER: folder,
      SCRATCH: scratch,
      ...variables,
    },
  });
  return summary(readReport(output), files.length, status);
}

/** What vitest wrote down; undefined if it did not get that far. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function summary(report, files, status) {
  if (!report) return { passed: false, line: `FAILED before any test, with status ${status}` };
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = report;
  const line = `${files} files, ${passed} tests passed, ${skipped} skipped, ${failed} failed`;
  return { passed: status === 0, line };
}
