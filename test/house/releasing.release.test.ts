/** Proves that `npm run release` makes a release, and stops without having changed anything when something is wrong. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/release.mjs');

const changelog = `# Changelog

## Unreleased

- Something new.

## 1.2.3 (2026-01-01)

- Something old.
`;

let folder: string;
let project: string;

const at = (name: string): string => join(project, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
const commit = (name: string, text: string): void => {
  writeFileSync(at(name), text);
  git('add', '--all');
  git('commit', '--quiet', '--message', `Change ${name}`);
};

/** Commands that take no time; packing makes the file that it should. */
const quick = {
  test: 'node -e ""',
  build: 'node -e ""',
  pack: `node -e "fs.writeFileSync('boat-'+require('./package.json').version+'.tgz','')"`,
};

function run(level: string, steps: Partial<typeof quick> = {}, ...more: string[]) {
  const options = Object.entries({ ...quick, ...steps }).flatMap(([name, command]) => [`--${name}`, command]);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [at('scripts/release.mjs'), level, ...options, ...more],
    { encoding: 'utf8' },
  );
  return { status, stdout, stderr };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wherry-release-'));
  project = join(folder, 'boat');
  mkdirSync(join(project, 'scripts'), { recursive: true });
  cpSync(script, at('scripts/release.mjs'));
  writeFileSync(at('CHANGELOG.md'), changelog);
  writeFileSync(at('.gitignore'), '*.tgz\n');
  writeFileSync(at('package.json'), '{\n  "name": "boat",\n  "version": "1.2.3",\n  "type": "module"\n}\n');
  const lock = { name: 'boat', version: '1.2.3', packages: { '': { name: 'boat', version: '1.2.3' } } };
  writeFileSync(at('package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  git('init', '--quiet', '--initial-branch', 'main');
  git('config', 'user.name', 'Skipper');
  git('config', 'user.email', 'skipper@example.com');
  git('config', 'commit.gpgsign', 'false');
  git('config', 'tag.gpgsign', 'false');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Begin');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  it.each([
    ['patch', '1.2.4'],
    ['minor', '1.3.0'],
    ['major', '2.0.0'],
  ])('of a %s has its version, date, commit, tag and package', (level, version) => {
    const { status, stdout } = run(level);
    expect({ status, stdout }).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Released ${version}`),
    });
    expect(JSON.parse(read('package.json')).version).toBe(version);
    expect(JSON.parse(read('package-lock.json'))).toMatchObject({
      version,
      packages: { '': { name: 'boat', version } },
    });
    const date = new Date().toISOString().slice(0, 10);
    expect(read('CHANGELOG.md')).toBe(
      changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} (${date})\n`),
    );
    expect(git('log', '-1', '--format=%s')).toBe(`Release ${version}`);
    expect(git('rev-parse', `v${version}^{commit}`)).toBe(git('rev-parse', 'HEAD'));
    expect(git('cat-file', '-t', `v${version}`)).toBe('tag');
    expect(git('status', '--porcelain')).toBe('');
    expect(read(`boat-${version}.tgz`)).toBe('');
  });

  it('tests, builds and packs what has the new version, in this order', () => {
    const note = (step: string): string =>
      `node -e "fs.appendFileSync('../steps','${step} '+require('./package.json').version+'\\n')"`;
    expect(
      run('minor', { test: note('test'), build: note('build'), pack: `${note('pack')} && ${quick.pack}` })
        .status,
    ).toBe(0);
    expect(readFileSync(join(folder, 'steps'), 'utf8')).toBe('test 1.3.0\nbuild 1.3.0\npack 1.3.0\n');
  });

  it('can be tried first, which changes nothing and runs nothing', () => {
    const { status, stdout } = run('minor', { test: 'exit 1' }, '--dry-run');
    expect({ status, stdout }).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/Would release 1\.3\.0, tag v1\.3\.0/),
    });
    expect(stdout).toContain('- Something new.');
    unchanged();
  });

  it('has notes, which are its part of the changelog', () => {
    const notes = (...version: string[]) =>
      spawnSync(process.execPath, [at('scripts/release.mjs'), 'notes', ...version], { encoding: 'utf8' });
    expect(notes('1.2.3')).toMatchObject({ status: 0, stdout: '- Something old.\n' });
    expect(notes()).toMatchObject({ status: 0, stdout: '- Something old.\n' });
    expect(notes('9.9.9')).toMatchObject({ status: 1, stderr: 'CHANGELOG.md has no section 9.9.9\n' });
  });
});

/** The version, the changelog, the last commit and the tags are those of the beginning, or of the case. */
function unchanged(head = 'Begin', tags = ''): void {
  expect(JSON.parse(read('package.json')).version).toBe('1.2.3');
  expect(git('log', '-1', '--format=%s')).toBe(head);
  expect(git('tag')).toBe(tags);
  expect(git('diff', 'HEAD', '--stat', '--', 'CHANGELOG.md', 'package.json', 'package-lock.json')).toBe('');
}

describe('it stops', () => {
  const stops = (level: string, message: string, steps: Partial<typeof quick> = {}): void => {
    const { status, stderr } = run(level, steps);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(message) });
  };

  it('without a level, or with one that is none', () => {
    for (const level of ['', 'huge', '1.2.4']) stops(level, 'Usage: npm run release -- patch|minor|major');
    expect(run('patch', {}, '--now')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("'--now'"),
    });
    expect(run('patch', {}, 'minor')).toMatchObject({ status: 1, stderr: expect.stringContaining('Usage') });
    unchanged();
  });

  it('when a file is changed or new', () => {
    writeFileSync(at('other'), 'x');
    stops('patch', 'There are changes that are not committed');
    rmSync(at('other'));
    writeFileSync(at('.gitignore'), '*.tgz\n*.log\n');
    stops('patch', 'There are changes that are not committed');
    unchanged();
  });

  it('on another branch, and on none', () => {
    git('checkout', '--quiet', '-b', 'work');
    stops('patch', 'Releases are made from main, and this is work');
    git('checkout', '--quiet', '--detach');
    stops('patch', 'Releases are made from main, and this is HEAD');
    unchanged();
  });

  it('when others have gone on', () => {
    const other = join(folder, 'other');
    execFileSync('git', ['clone', '--quiet', project, other]);
    git('remote', 'add', 'origin', other);
    const [own, theirs] = [project, other];
    project = theirs;
    git('config', 'user.name', 'Mate');
    git('config', 'user.email', 'mate@example.com');
    commit('news', 'x');
    project = own;
    git('fetch', '--quiet', 'origin');
    git('branch', '--quiet', '--set-upstream-to', 'origin/main');
    stops('patch', 'There are commits upstream that are not here');
    unchanged();
  });

  it('when the tag is there', () => {
    git('tag', 'v1.2.4');
    stops('patch', 'There is a tag v1.2.4 already');
    unchanged('Begin', 'v1.2.4');
  });

  it('when the changelog has nothing new, no place for it, or the version already', () => {
    commit('CHANGELOG.md', changelog.replace('- Something new.\n', '### Nothing\n'));
    stops('patch', 'CHANGELOG.md tells of nothing that is unreleased');
    commit('CHANGELOG.md', changelog.replace('## Unreleased', '## Later'));
    stops('patch', 'CHANGELOG.md has no section Unreleased');
    commit('CHANGELOG.md', changelog.replace('1.2.3', '1.2.4'));
    stops('patch', 'CHANGELOG.md has a section 1.2.4 already');
    unchanged('Change CHANGELOG.md');
  });

  it('when the versions differ, or are not three numbers', () => {
    const manifest = read('package.json');
    commit('package.json', manifest.replace('1.2.3', '1.2.2'));
    stops('patch', 'package.json has version 1.2.2, and package-lock.json another');
    commit('package.json', manifest.replace('1.2.3', '1.2.3-rc'));
    commit('package-lock.json', read('package-lock.json').replaceAll('1.2.3', '1.2.3-rc'));
    stops('patch', 'The version 1.2.3-rc is not three numbers');
  });

  it.each([
    ['the tests fail', { test: 'exit 3' }, 'The tests failed: nothing was released'],
    ['the build fails', { build: 'exit 3' }, 'The build failed: nothing was released'],
    ['packing fails', { pack: 'exit 3' }, 'Packing failed: nothing was released'],
    ['nothing was packed', { pack: 'node -e ""' }, 'Packing made no boat-1.2.4.tgz'],
    [
      'a step changes other files',
      { build: `node -e "fs.writeFileSync('left','')"` },
      'Tests, build or packing have changed other files:\n?? left',
    ],
  ])('when %s, and takes back what it wrote', (_what, steps, message) => {
    stops('patch', message, steps);
    unchanged();
  });
});
