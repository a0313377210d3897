/** `npm start`: installs and builds if needed, then runs `wherry up` with the given arguments, in this process. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { installPackages, run } from './install.mjs';

process.chdir(path.dirname(import.meta.dirname));
await installPackages();
if (isStale()) run(process.execPath, ['scripts/build.mjs'], 'the build failed');
const given = process.argv.slice(2);
// A clone is tried out where it is, and leaves the files of its user alone, unless its arguments say where to keep what.
const isPlaced = given.some((arg) => /^--(name|data-dir|in-memory|store)(=|$)|^-d$|^--detach$/.test(arg));
const place = isPlaced ? [] : ['--data-dir', '.wherry', '--no-kubeconfig'];
process.argv = [process.argv[0], 'wherry', 'up', ...place, ...given];
// The times that the command prints begin here: installing and building are no part of a start.
performance.mark('wherry begins');
await import('../dist/cli.cjs');

/** Whether a source is newer than the build. */
function isStale() {
  if (!existsSync('dist/cli.cjs')) return true;
  const built = statSync('dist/cli.cjs').mtimeMs;
  const files = ['src', 'web'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }),
  );
  return files.some(
    (file) => file.isFile() && statSync(path.join(file.parentPath, file.name)).mtimeMs > built,
  );
}
