/**
 * `npm test`: installs what the tests need, then checks types, style, layers, dead code, and runs every test.
 *
 * The tests talk to the real clients. Python's client is installed with the system's package manager when it is missing and
 * this user may do that; versions of kubectl are fetched privately (kubectls.mjs). Without any kubectl, or without Python's
 * client, the run fails under CI; elsewhere the tests that need them are skipped with a message.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { binary, runChecks } from './checks.mjs';
import { installPackages, run } from './install.mjs';
import { findKubectls } from './kubectls.mjs';

/** What the tests use: the Debian package it comes from, and a command that succeeds where it is there. */
const tools = {
  // The system's Python: a package of Debian is not there for any other.
  'python3-kubernetes': {
    package: 'python3-kubernetes',
    check: ['/usr/bin/python3', '-c', 'import kubernetes'],
  },
};

const tell = (message) => process.stderr.write(`${message}\n`);

process.chdir(path.dirname(import.meta.dirname));
installPackages();
const kubectls = findKubectls(tell);
for (const [version, program] of Object.entries(kubectls))
  tell(`Tests talk to kubectl ${version}, ${program}`);
const missing = [...installTools(), ...(Object.keys(kubectls).length ? [] : ['kubectl'])];
if (missing.length) {
  const message = `These tools are missing, and tests need them: ${missing.join(', ')}`;
  if (process.env.CI) {
    tell(message);
    process.exit(1);
  }
  tell(`${message}. Tests that use them are SKIPPED.`);
}
runChecks();
run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const { status } = spawnSync(binary('vitest'), ['run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, WHERRY_MISSING_TOOLS: missing.join(','), WHERRY_KUBECTLS: JSON.stringify(kubectls) },
});
process.exit(status ?? 1);

function succeeds([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function installTools() {
  const isMissing = (tool) => !succeeds(tools[tool].check);
  const wanted = Object.keys(tools).filter(isMissing);
  if (wanted.length && process.getuid?.() === 0 && succeeds(['apt-get', '--version'])) {
    tell(`Installing ${wanted.join(', ')}…`);
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
