/**
 * `npm test`: installs what the tests need, then checks types, style, layers, and runs every test.
 *
 * The tests talk to the real clients. Tools that are missing are installed with the system's package manager when
 * this user may do that. What is still missing then fails the run under CI, and is skipped with a message elsewhere.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { installPackages, run } from './install.mjs';

/** Commands the tests use, and the Debian package each comes from. */
const tools = { kubectl: 'kubernetes-client' };

process.chdir(path.dirname(import.meta.dirname));
installPackages();
const missing = installTools();
if (missing.length) {
  const message = `These tools are missing, and tests need them: ${missing.join(', ')}`;
  if (process.env.CI) {
    process.stderr.write(`${message}\n`);
    process.exit(1);
  }
  process.stderr.write(`${message}. Tests that use them are SKIPPED.\n`);
}
const binary = (name) => path.join('node_modules', '.bin', name);
run(binary('biome'), ['check', '--error-on-warnings', '.'], 'Biome found something');
run(binary('tsc'), ['-p', '.'], 'the types do not fit');
run(binary('depcruise'), ['--config', '.dependency-cruiser.cjs', 'src'], 'a layer imports what it must not');
run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const { status } = spawnSync(binary('vitest'), ['run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, WHERRY_MISSING_TOOLS: missing.join(',') },
});
process.exit(status ?? 1);

function has(command) {
  const { error } = spawnSync(command, ['--help'], { stdio: 'ignore' });
  return error?.code !== 'ENOENT';
}

function installTools() {
  const wanted = Object.keys(tools).filter((command) => !has(command));
  if (wanted.length && process.getuid?.() === 0 && has('apt-get')) {
    process.stderr.write(`Installing ${wanted.join(', ')}…\n`);
    const quiet = {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    spawnSync('apt-get', ['update', '-qq'], quiet);
    spawnSync(
      'apt-get',
      ['install', '-y', '-qq', '--no-install-recommends', ...wanted.map((command) => tools[command])],
      quiet,
    );
  }
  return wanted.filter((command) => !has(command));
}
