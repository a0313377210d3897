/**
 * The versions of kubectl for the tests: the one on the PATH, an old and a current one. Missing ones are downloaded from
 * Debian releases (debian.mjs).
 */
import { spawnSync } from 'node:child_process';
import { DebianProgram, onPath } from './debian.mjs';

/** Debian releases, the version of kubectl in each, and its package. */
const releases = [
  { codename: 'bookworm', version: '1.20', package: 'kubernetes-client' },
  { codename: 'trixie', version: '1.32', package: 'kubectl' },
];

/** Not one of those that all tests with kubectl run with: the release of Debian is not finished yet. */
const newest = { codename: 'forky', version: '1.36', package: 'kubectl' };

/**
 * The programs by version, `{ '1.20': '/usr/bin/kubectl', … }`, the one on the PATH first. With `tell`,
 * missing ones are downloaded, and `tell` is called for those that could not be.
 */
export async function findKubectls(tell) {
  const found = new Map();
  const installed = onPath('kubectl');
  const version = installed && versionOf(installed);
  if (version) found.set(version, installed);
  const others = releases.filter((release) => !found.has(release.version));
  const programs = await Promise.all(others.map((release) => programOf(release, tell)));
  for (const [i, program] of programs.entries()) if (program) found.set(others[i].version, program);
  return Object.fromEntries(found);
}

async function programOf(release, tell) {
  const program = new DebianProgram(release, 'kubectl', versionOf);
  try {
    await (tell && program.fetch(tell));
    return program.isThere ? program.path : undefined;
  } catch (error) {
    tell(`kubectl ${release.version} could not be fetched, tests go without it: ${error.message}`);
    return undefined;
  }
}

/** The newest that a release of Debian has, downloaded if it is not there; undefined, and `tell` is called, if it cannot be. */
export async function newestKubectl(tell) {
  const program = await programOf(newest, tell);
  return program && { version: newest.version, program };
}

/** `1.20` for v1.20.2; undefined if it is not a kubectl. */
function versionOf(program) {
  const { stdout } = spawnSync(program, ['version', '--client', '--output=json'], { encoding: 'utf8' });
  try {
    const { major, minor } = JSON.parse(stdout).clientVersion;
    return `${major}.${parseInt(minor, 10)}`;
  } catch {
    return undefined;
  }
}
