/**
 * The real clients that the tests talk to. Python's is installed with the system's package manager when it is missing and
 * this user may do that; versions of kubectl are fetched privately (kubectls.mjs).
 */
import { spawnSync } from 'node:child_process';
import { findKubectls } from './kubectls.mjs';

/** What can be installed: the Debian package it comes from, and a command that succeeds where it is there. */
const tools = {
  // The system's Python: a package of Debian is not there for any other.
  'python3-kubernetes': {
    package: 'python3-kubernetes',
    check: ['/usr/bin/python3', '-c', 'import kubernetes'],
  },
};

export const tell = (message) => process.stderr.write(`${message}\n`);

/**
 * Gets the tools, and answers the environment that tells the tests of them. Without one of them the run ends under CI;
 * elsewhere the tests that need it are skipped. Of kubectl any version will do.
 */
export function prepareTools() {
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
  return { WHERRY_MISSING_TOOLS: missing.join(','), WHERRY_KUBECTLS: JSON.stringify(kubectls) };
}

/** Answers what is missing all the same. */
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

function succeeds([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
