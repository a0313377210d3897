/**
 * The quick checks of `npm test` and `npm run check`: style, floating promises, types and layers. Dead code breaks nothing,
 * and looking for it reads all sources twice more: `npm run check` does it, and a release.
 */
import path from 'node:path';
import { run } from './install.mjs';

export const binary = (name) => path.join('node_modules', '.bin', name);

/**
 * TypeScript 7 checks types with a quarter of the processor time. The version before it stays beside it for its
 * programming interface, which writes the types of the package and reads the sources for the rules of the house.
 */
const typeCheck = path.join('node_modules', 'typescript-native', 'bin', 'tsc');
/**
 * It is written in Go, which collects garbage nine times while a memory of 1.3 GB fills up: a fifth of the processor
 * time. It ends before 1.5 GB are full; the bound is for a program that has grown beyond that.
 */
const lateCollection = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

export function runChecks({ isDeadCodeSought = true } = {}) {
  run(binary('biome'), ['check', '--error-on-warnings', '.'], 'Biome found something');
  // One checker: each of the usual four would look at many types of its own again.
  run(process.execPath, [typeCheck, '-p', '.', '--checkers', '1'], 'the types do not fit', lateCollection);
  run(process.execPath, [typeCheck, '-p', 'web'], 'the types of the page do not fit', lateCollection);
  run(
    binary('depcruise'),
    ['--config', '.dependency-cruiser.cjs', 'src', 'web'],
    'a layer imports what it must not',
  );
  if (!isDeadCodeSought) return;
  run(binary('knip'), ['--no-progress'], 'something is not used: see knip.ts');
  run(binary('knip'), ['--no-progress', '--production'], 'something is used by tests alone: see knip.ts');
}

if (process.argv[1] === import.meta.filename)
  runChecks({ isDeadCodeSought: process.env.WHERRY_RELEASE === '1' });
