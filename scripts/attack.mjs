/**
 * `npm run attack`: runs all attacks of `test/attack/attacks/` against servers of this machine, and prints what each did,
 * what got in, and what a neighbour felt meanwhile.
 * `npm run attack -- bodies`: those whose name has this word.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { binary } from './checks.mjs';
import { run } from './install.mjs';

process.chdir(path.dirname(import.meta.dirname));
const [word] = process.argv.slice(2);
run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const { status } = spawnSync(
  binary('vitest'),
  ['run', '--project', 'clusters', 'test/attack', ...(word ? ['-t', word] : [])],
  { stdio: 'inherit', env: { ...process.env, WHERRY_ATTACK: 'long' } },
);
process.exit(status ?? 1);
