/** Installs the packages when they are missing or the lock file has changed. Uses only Node's own modules. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { finished } from './side-process.mjs';

const shown = {
  stdio: ['ignore', process.stderr.fd, process.stderr.fd],
  shell: process.platform === 'win32',
};

const marker = 'node_modules/.wherry-lock';

export async function installPackages() {
  const lock = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lock) return;
  process.stderr.write('Installing packages…\n');
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  await runBeside('npm', args, 'packages could not be installed');
  writeFileSync(marker, lock);
}

/** Runs a command with its output shown; exits when it fails. */
export function run(command, args, failure, environment = {}) {
  const env = { ...process.env, ...environment };
  failUnless(spawnSync(command, args, { ...shown, env }), failure);
}

/** The same while other commands run. */
export async function runBeside(command, args, failure) {
  failUnless(await finished(command, args, shown), failure);
}

function failUnless({ status, error }, failure) {
  if (status === 0) return;
  process.stderr.write(`${failure}${error ? `: ${error.message}` : ''}\n`);
  process.exit(1);
}
