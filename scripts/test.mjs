/**
 * `npm test`: installs what the tests need, then checks types, style, layers, and runs every test.
 *
 * The tests talk to the real clients. Tools that are missing are installed with the system's package manager when
 * this user may do that. What is still missing then fails the run under CI, and is skipped with a message elsewhere.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { installPackages, run } from './install.mjs';

/** What the tests use: the Debian package it comes from, and a command that succeeds where it is there. */
const tools = {
  kubectl: { package: 'kubernetes-client', check: ['kubectl', '--help'] },
  // The system's Python: a package of Debian is not there for any other.
  'python3-kubernetes': {
    package: 'python3-kubernetes',
    check: ['/usr/bin/python3', '-c', 'import kubernetes'],
  },
};

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

function succeeds([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function installTools() {
  const isMissing = (tool) => !succeeds(tools[tool].check);
  const wanted = Object.keys(tools).filter(isMissing);
  if (wanted.length && process.getuid?.() === 0 && succeeds(['apt-get', '--version'])) {
    process.stderr.write(`Installing ${wanted.join(', ')}…\n`);
    const quiet = {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    };
    spawnSync('apt-get', ['update', '-qq'], quiet);
    spawnSync(
      'apt-get',
      ['install', '-y', '-qq', '--no-install-recommends', ...wanted.map((tool) => tools[tool].package)],
      quiet,
    );
  }
  return wanted.filter(isMissing);
}
