/**
 * `npm test`: installs what the tests need, checks style, types, layers and dead code meanwhile, and then runs every
 * test. Arguments are passed to vitest: `npm test -- src/api` runs the tests of one folder.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { binary } from './checks.mjs';
import { installPackages } from './install.mjs';
import { prepareTools } from './tools.mjs';

process.chdir(path.dirname(import.meta.dirname));
installPackages();
// A process of its own, because installing waits for the package manager without doing anything else.
const checks = spawn(process.execPath, ['scripts/checks.mjs'], { stdio: ['ignore', 'inherit', 'inherit'] });
const checked = once(checks, 'exit');
process.on('exit', () => checks.kill());
const environment = prepareTools();
const [problem] = await checked;
if (problem !== 0) process.exit(1);
const { status } = spawnSync(binary('vitest'), ['run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...environment },
});
process.exit(status ?? 1);
