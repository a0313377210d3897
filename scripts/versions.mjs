/**
 * `npm run test:versions`: every test on every supported version of Node. Arguments are passed to vitest:
 * `npm run test:versions -- src/store` runs the tests of one folder; `--node 24` chooses a version.
 *
 * Other versions than the running one are downloaded from the npm registry, which has a package of Node per
 * platform, into a private folder.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { installPackages, run } from './install.mjs';
import { prepareTools, tell } from './tools.mjs';

/** The oldest supported release of each major version. */
const releases = { 20: '20.19', 22: '22.12', 24: '24.0' };

const cache = path.join(import.meta.dirname, '../.cache/wherry-node');

process.chdir(path.dirname(import.meta.dirname));
const { versions, rest } = readOptions(process.argv.slice(2));
await installPackages();
const environment = await prepareTools();
const failed = versions.filter((version) => !passes(version));
tell(failed.length ? `Tests fail on Node ${failed.join(', ')}` : `Tests pass on Node ${versions.join(', ')}`);
process.exit(failed.length ? 1 : 0);

function readOptions(args) {
  const at = args.indexOf('--node');
  if (at < 0) return { versions: Object.keys(releases), rest: args };
  const version = args[at + 1];
  if (!releases[version]) {
    tell(`--node must be one of ${Object.keys(releases).join(', ')}`);
    process.exit(1);
  }
  return { versions: [version], rest: args.toSpliced(at, 2) };
}

function passes(version) {
  const node = programOf(version);
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  tell(`\nNode ${stdout.trim()}`);
  // Build again: the build keeps compiled code, which is specific to a version.
  run(node, ['scripts/build.mjs'], `the build failed on Node ${version}`);
  const { status } = spawnSync(node, ['node_modules/vitest/vitest.mjs', 'run', ...rest], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...environment,
      PATH: [path.dirname(node), process.env.PATH].join(path.delimiter),
    },
  });
  return status === 0;
}

/** The Node program of a version: the running one, or one from the registry. */
function programOf(version) {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = path.join(cache, version);
  const program = path.join(folder, 'node_modules', name, 'bin', platform === 'win' ? 'node.exe' : 'node');
  if (existsSync(program)) return program;
  tell(`Fetching Node ${version} for the tests…`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder];
  run(
    'npm',
    ['install', ...quiet, `${name}@^${releases[version]}`],
    `Node ${version} could not be fetched for this platform`,
  );
  return program;
}
