/**
 * `npm test`: installs what the tests need, builds, and runs every test. Style, types and layers are checked
 * meanwhile; the first problem ends the tests, too. Arguments are passed to vitest: `npm test -- src/api` runs the tests
 * of one folder.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { binary } from './checks.mjs';
import { installPackages, runBeside } from './install.mjs';
import { prepareTools } from './tools.mjs';

process.chdir(path.dirname(import.meta.dirname));
// Tools come from the network while packages are installed, which keeps one processor busy.
const [{ checked }, environment] = await Promise.all([prepareSources(), prepareTools()]);
const tests = spawn(binary('vitest'), ['run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...environment },
});
const tested = once(tests, 'exit');
const [problem] = await checked;
if (problem !== 0) tests.kill('SIGINT');
const [status] = await tested;
if (problem !== 0) process.stderr.write('the checks above failed\n');
process.exit(problem === 0 ? (status ?? 1) : 1);

/** Builds, and begins the checks. */
async function prepareSources() {
  await installPackages();
  await runBeside(process.execPath, ['scripts/build.mjs'], 'the build failed');
  const checks = spawn(process.execPath, ['scripts/checks.mjs'], { stdio: ['ignore', 'inherit', 'inherit'] });
  process.on('exit', () => checks.kill());
  return { checked: once(checks, 'exit') };
}
