/** Installs the packages when they are missing or the lock file has changed. Uses only Node's own modules. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const marker = 'node_modules/.wherry-lock';

export function installPackages() {
  const lock = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lock) return;
  process.stderr.write('Installing packages…\n');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], 'packages could not be installed');
  writeFileSync(marker, lock);
}

/** Runs a command with its output shown; exits when it fails. */
export function run(command, args, failure) {
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  process.stderr.write(`${failure}${error ? `: ${error.message}` : ''}\n`);
  process.exit(1);
}
