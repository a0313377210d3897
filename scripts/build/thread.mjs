/**
 * Builds the thread that writes to LMDB (`src/store/lmdb-thread.ts`) into a file that Node can start, for
 * every bundle that contains the store.
 */
import path from 'node:path';
import { build } from 'esbuild';

const root = path.resolve(import.meta.dirname, '../..');

/** Its file name, next to the bundle that starts it. */
const fileName = 'lmdbthread.cjs';

/** esbuild's `define` for a bundle with the thread's file next to it; read by `src/store/lmdb-writer.ts`. */
export const defineThread = { lmdbThreadFile: JSON.stringify(`./${fileName}`) };

/** Builds it into a folder; returns the file. */
export async function buildThread(folder, options = {}) {
  const outfile = path.join(folder, fileName);
  await build({
    target: 'node20.19',
    ...options,
    entryPoints: [path.join(root, 'src/store/lmdb-thread.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    outfile,
  });
  return outfile;
}
