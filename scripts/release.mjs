/**
 * `npm run release -- patch|minor|major`: makes a release of what is committed. It sets the version and the date in the
 * changelog, tests, builds and packs, commits and tags. It stops at the first thing that is wrong, and then leaves everything
 * as it was. Nothing is pushed or published: the last lines say how.
 *
 *   --dry-run                 looks at all that can be looked at, says what would be done, and does nothing
 *   --test, --build, --pack   commands to run instead of npm's own
 *
 * `npm run release -- notes [VERSION]` prints what the changelog says of a version; without one, of the current.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const branch = 'main';
const levels = ['major', 'minor', 'patch'];
/** What a release changes, and nothing else may change meanwhile. */
const files = ['CHANGELOG.md', 'package-lock.json', 'package.json'];

class Stop extends Error {}

process.chdir(path.dirname(import.meta.dirname));
try {
  main();
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function main() {
  const { values, positionals } = readOptions();
  const [what, version] = positionals;
  if (what === 'notes' && positionals.length <= 2)
    return process.stdout.write(`${notesOf(version ?? readJson('package.json').version)}\n`);
  if (!levels.includes(what) || positionals.length > 1)
    throw new Stop('Usage: npm run release -- patch|minor|major [--dry-run]');
  const plan = planOf(what);
  if (values['dry-run'])
    return tell(
      `Would release ${plan.version}, tag ${plan.tag}, dated ${plan.date}:\n\n${unreleased(readFileSync('CHANGELOG.md', 'utf8'))}`,
    );
  return release(plan, values);
}

function readOptions() {
  const text = { type: 'string' };
  try {
    return parseArgs({
      allowPositionals: true,
      options: { 'dry-run': { type: 'boolean' }, test: text, build: text, pack: text },
    });
  } catch (error) {
    throw new Stop(error.message);
  }
}

/** What is to be done; throws when something speaks against it. */
function planOf(level) {
  const { name, version: current } = readJson('package.json');
  const lock = readJson('package-lock.json');
  if (lock.version !== current || lock.packages[''].version !== current)
    throw new Stop(`package.json has version ${current}, and package-lock.json another`);
  const version = next(current, level);
  const tag = `v${version}`;
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  if (git('status', '--porcelain') !== '') throw new Stop('There are changes that are not committed');
  const on = git('rev-parse', '--abbrev-ref', 'HEAD');
  if (on !== branch) throw new Stop(`Releases are made from ${branch}, and this is ${on}`);
  if (succeeds('rev-parse', '--abbrev-ref', '@{upstream}') && git('rev-list', 'HEAD..@{upstream}') !== '')
    throw new Stop('There are commits upstream that are not here');
  if (succeeds('rev-parse', '--verify', `refs/tags/${tag}`)) throw new Stop(`There is a tag ${tag} already`);
  if (sectionOf(changelog, version) !== undefined)
    throw new Stop(`CHANGELOG.md has a section ${version} already`);
  if (!/^- /m.test(unreleased(changelog))) throw new Stop('CHANGELOG.md tells of nothing that is unreleased');
  return { name, current, version, tag, date: new Date().toISOString().slice(0, 10) };
}

function next(current, level) {
  const numbers = /^(\d+)\.(\d+)\.(\d+)$/.exec(current)?.slice(1).map(Number);
  if (!numbers) throw new Stop(`The version ${current} is not three numbers`);
  const at = levels.indexOf(level);
  return numbers.map((number, i) => (i < at ? number : i === at ? number + 1 : 0)).join('.');
}

function release(
  plan,
  { test = 'npm run test:release', build = 'npm run build', pack = 'npm pack --ignore-scripts' },
) {
  const tarball = `${plan.name}-${plan.version}.tgz`;
  const before = git('rev-parse', 'HEAD');
  try {
    write(plan);
    step('The tests', test);
    step('The build', build);
    step('Packing', pack);
    if (!existsSync(tarball)) throw new Stop(`Packing made no ${tarball}`);
    const others = git('status', '--porcelain')
      .split('\n')
      .filter((line) => !files.includes(line.slice(2).trim()));
    if (others.length)
      throw new Stop(`Tests, build or packing have changed other files:\n${others.join('\n')}`);
    git('commit', '--quiet', '--message', `Release ${plan.version}`, '--', ...files);
    git('tag', '--annotate', plan.tag, '--message', `Release ${plan.version}`);
  } catch (error) {
    git('reset', '--quiet', '--soft', before);
    git('checkout', '--quiet', 'HEAD', '--', ...files);
    throw error;
  }
  tell(`Released ${plan.version}. To give it to others:`);
  tell(`  git push --follow-tags\n  npm publish ${tarball}`);
}

/** The version in both files, and the date in the changelog. */
function write({ current, version, date }) {
  const manifest = readFileSync('package.json', 'utf8');
  writeFileSync('package.json', manifest.replace(`"version": "${current}"`, `"version": "${version}"`));
  const lock = readJson('package-lock.json');
  lock.version = version;
  lock.packages[''].version = version;
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  writeFileSync(
    'CHANGELOG.md',
    changelog.replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} (${date})\n`),
  );
}

function step(what, command) {
  tell(`${what}: ${command}`);
  if (spawnSync(command, { shell: true, stdio: ['ignore', 'inherit', 'inherit'] }).status !== 0)
    throw new Stop(`${what} failed: nothing was released`);
}

function notesOf(version) {
  const notes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version);
  if (notes === undefined) throw new Stop(`CHANGELOG.md has no section ${version}`);
  return notes;
}

function unreleased(changelog) {
  const section = sectionOf(changelog, 'Unreleased');
  if (section === undefined) throw new Stop('CHANGELOG.md has no section Unreleased');
  return section;
}

/** What stands below the heading of a version, up to the next one. */
function sectionOf(changelog, title) {
  for (const section of changelog.split(/^## /m).slice(1)) {
    const [heading, ...lines] = section.split('\n');
    if (heading.split(' ')[0] === title) return lines.join('\n').trim();
  }
  return undefined;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trimEnd();
}

function succeeds(...args) {
  return spawnSync('git', args, { stdio: 'ignore' }).status === 0;
}

function tell(text) {
  process.stdout.write(`${text}\n`);
}
