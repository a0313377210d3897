/**
 * The versions of etcd for the tests: the one on the PATH, and, before a release or without that one, a newer one that is
 * downloaded from a Debian release (debian.mjs). `WHERRY_ETCD=/path/to/etcd` names another, which is then the only one.
 */
import { spawnSync } from 'node:child_process';
import { DebianProgram, onPath } from './debian.mjs';

const newer = { codename: 'trixie', version: '3.5', package: 'etcd-server' };

/**
 * The programs by version, `{ '3.4': '/usr/bin/etcd', … }`, the one on the PATH first. With `tell`, the newer one is
 * downloaded if it is missing and the tests use it, and `tell` is called if it cannot be.
 */
export async function findEtcds(tell) {
  const named = process.env.WHERRY_ETCD;
  if (named) {
    const version = versionOf(named);
    if (!version) throw new Error(`WHERRY_ETCD is ${named}, and that is no etcd`);
    return { [version]: named };
  }
  const found = new Map();
  const installed = onPath('etcd');
  const version = installed && versionOf(installed);
  if (version) found.set(version, installed);
  if (found.has(newer.version)) return Object.fromEntries(found);
  const program = new DebianProgram(newer, 'etcd', versionOf);
  const isUsed = process.env.WHERRY_RELEASE === '1' || !found.size;
  try {
    if (tell && isUsed) await program.fetch(tell);
    if (program.isThere) found.set(newer.version, program.path);
  } catch (error) {
    tell(`etcd ${newer.version} could not be fetched, tests go without it: ${error.message}`);
  }
  return Object.fromEntries(found);
}

/** `3.5` for 3.5.16; undefined if it is not an etcd. */
function versionOf(program) {
  const { stdout } = spawnSync(program, ['--version'], {
    encoding: 'utf8',
    env: { ...process.env, ETCD_UNSUPPORTED_ARCH: 'arm64' },
  });
  return /^etcd Version: (\d+\.\d+)/m.exec(stdout ?? '')?.[1];
}
