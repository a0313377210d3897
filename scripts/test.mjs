/**
 * `npm test`: installs what the tests need, then checks style, types, layers and dead code, and runs every
 * test. Arguments are passed to vitest: `npm test -- src/api` runs the tests of one folder.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { binary, runChecks } from './checks.mjs';
import { installPackages, run } from './install.mjs';
import { prepareTools } from './tools.mjs';

process.chdir(path.dirname(import.meta.dirname));
installPackages();
const environment = prepareTools();
runChecks();
run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const { status } = spawnSync(binary('vitest'), ['run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...environment },
});
process.exit(status ?? 1);
