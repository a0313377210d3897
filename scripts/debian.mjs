/**
 * Programs for the tests from packages of Debian releases, downloaded into a private folder: nothing is installed, and
 * the system's package lists stay unchanged.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { finished } from './side-process.mjs';

const cache = path.join(import.meta.dirname, '../.cache');
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const fetchMaxMs = 300_000;

export function onPath(name) {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}

/**
 * A program, or another file, in a package of a release. `versionOf` returns the version of a program, as `1.20`, or
 * undefined if it does not run; `file` is where the package has it.
 */
export class DebianProgram {
  constructor({ codename, version, package: name, file = undefined }, program, versionOf) {
    this.codename = codename;
    this.version = version;
    this.package = name;
    this.program = program;
    this.versionOf = versionOf;
    this.folder = path.join(cache, `wherry-${program}`, codename);
    this.path = path.join(this.folder, 'root', file ?? `usr/bin/${program}`);
  }

  get isThere() {
    return this.versionOf(this.path) !== undefined;
  }

  /** Downloads it, unless it is there. Throws a sentence when it cannot be had. */
  async fetch(tell) {
    if (this.isThere) return;
    const mirror = await debianMirror();
    tell(`Fetching ${this.program} ${this.version} for the tests…`);
    const { folder } = this;
    const inside = (name) => path.join(folder, name);
    rmSync(folder, { recursive: true, force: true });
    for (const name of ['lists/partial', 'archives/partial', 'root'])
      mkdirSync(inside(name), { recursive: true });
    const signed = existsSync(keyring) ? `[signed-by=${keyring}]` : '';
    writeFileSync(inside('sources.list'), `deb ${signed} ${mirror} ${this.codename} main\n`);
    writeFileSync(inside('status'), '');
    const settings = {
      'Dir::Etc::sourcelist': inside('sources.list'),
      'Dir::Etc::sourceparts': '-',
      'Dir::State': folder,
      'Dir::State::lists': inside('lists'),
      'Dir::State::status': inside('status'),
      'Dir::Cache': folder,
      'Dir::Cache::archives': inside('archives'),
      // Do not drop privileges: apt's own user may not be able to enter the folder.
      'APT::Sandbox::User': '',
      'Acquire::Languages': 'none',
      'Acquire::Retries': '2',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    await run('apt-get', [...options, '-qq', 'update'], folder);
    await run('apt-get', [...options, '-qq', 'download', this.package], folder);
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
    await run('dpkg-deb', ['--extract', inside(file), inside('root')], folder);
    for (const name of ['lists', 'archives', file]) rmSync(inside(name), { recursive: true });
    if (this.versionOf(this.path) !== this.version)
      throw new Error(`the package ${this.package} of ${this.codename} does not hold it`);
  }
}

/** The mirror that this machine uses for its own release: it has the other releases, too. */
async function debianMirror() {
  const format = ['--format', '$(COMPONENT) $(RELEASE) $(REPO_URI)', 'Created-By: Packages'];
  const { stdout, error } = await finished('apt-get', ['indextargets', '--no-release-info', ...format]);
  if (error) throw new Error('there is no apt-get here');
  if (!/^ID="?debian"?$/m.test(readFileSync('/etc/os-release', 'utf8')))
    throw new Error('it comes from packages of Debian, and this is another system');
  // Suites for updates and security have a hyphen.
  const [, uri] = /^main [^\s-]+ (\S+)$/m.exec(stdout) ?? [];
  if (!uri) throw new Error('this machine names no source of packages');
  return uri;
}

async function run(command, args, cwd) {
  const { status, error, stderr } = await finished(command, args, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: fetchMaxMs,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status === 0) return;
  throw new Error(error?.message ?? `${command}: ${stderr.trim().split('\n').slice(-2).join(' ')}`);
}
