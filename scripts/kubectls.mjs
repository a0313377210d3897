/**
 * The versions of kubectl for the tests: the one on the PATH, an old and a current one. Missing ones are
 * downloaded from Debian releases into a private folder; nothing is installed, and the system's package lists
 * stay unchanged.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Debian releases, the version of kubectl in each, and its package. */
const releases = [
  { codename: 'bookworm', version: '1.20', package: 'kubernetes-client' },
  { codename: 'trixie', version: '1.32', package: 'kubectl' },
];

const cache = path.join(import.meta.dirname, '../node_modules/.cache/wherry-kubectl');
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const fetchMaxMs = 300_000;

/**
 * The programs by version, `{ '1.20': '/usr/bin/kubectl', … }`, the one on the PATH first. With `tell`,
 * missing ones are downloaded, and `tell` is called for those that could not be.
 */
export function findKubectls(tell) {
  const found = new Map();
  const installed = onPath('kubectl');
  const version = installed && versionOf(installed);
  if (version) found.set(version, installed);
  for (const release of releases) {
    if (found.has(release.version)) continue;
    try {
      if (tell) fetchFrom(release, tell);
      if (versionOf(programOf(release))) found.set(release.version, programOf(release));
    } catch (error) {
      tell(`kubectl ${release.version} could not be fetched, tests go without it: ${error.message}`);
    }
  }
  return Object.fromEntries(found);
}

function onPath(name) {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}

const folderOf = ({ codename }) => path.join(cache, codename);
const programOf = (release) => path.join(folderOf(release), 'root/usr/bin/kubectl');

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

/** Downloads the program of a release into the cache, unless it is there. */
function fetchFrom(release, tell) {
  if (versionOf(programOf(release))) return;
  const mirror = debianMirror();
  tell(`Fetching kubectl ${release.version} for the tests…`);
  const folder = folderOf(release);
  const inside = (name) => path.join(folder, name);
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['lists/partial', 'archives/partial', 'root'])
    mkdirSync(inside(name), { recursive: true });
  const signed = existsSync(keyring) ? `[signed-by=${keyring}]` : '';
  writeFileSync(inside('sources.list'), `deb ${signed} ${mirror} ${release.codename} main\n`);
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
  run('apt-get', [...options, '-qq', 'update'], folder);
  run('apt-get', [...options, '-qq', 'download', release.package], folder);
  const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
  run('dpkg-deb', ['--extract', inside(file), inside('root')], folder);
  for (const name of ['lists', 'archives', file]) rmSync(inside(name), { recursive: true });
  if (versionOf(programOf(release)) !== release.version)
    throw new Error(`the package ${release.package} of ${release.codename} does not hold it`);
}

/** The mirror that this machine uses for its own release: it has the other releases, too. */
function debianMirror() {
  const format = ['--format', '$(COMPONENT) $(RELEASE) $(REPO_URI)', 'Created-By: Packages'];
  const { stdout, error } = spawnSync('apt-get', ['indextargets', '--no-release-info', ...format], {
    encoding: 'utf8',
  });
  if (error) throw new Error('there is no apt-get here');
  if (!/^ID="?debian"?$/m.test(readFileSync('/etc/os-release', 'utf8')))
    throw new Error('it comes from packages of Debian, and this is another system');
  // Suites for updates and security have a hyphen.
  const [, uri] = /^main [^\s-]+ (\S+)$/m.exec(stdout) ?? [];
  if (!uri) throw new Error('this machine names no source of packages');
  return uri;
}

function run(command, args, cwd) {
  const { status, error, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: fetchMaxMs,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status === 0) return;
  throw new Error(error?.message ?? `${command}: ${stderr.trim().split('\n').slice(-2).join(' ')}`);
}
