/** The thread that writes to LMDB (`src/store/lmdbthread.ts`) as a file that Node can start, for whatever bundles the store. */
import path from 'node:path';
import { build } from 'esbuild';

const root = path.dirname(import.meta.dirname);

/** Its name, beside the bundle that starts it. */
const fileName = 'lmdbthread.cjs';

/** What `src/store/lmdbwriter.ts` has to know: esbuild's `define` of a bundle with the thread beside it. */
export const defineThread = { lmdbThreadFile: JSON.stringify(`./${fileName}`) };

/** Builds it into a folder; answers with the file. */
export async function buildThread(folder, options = {}) {
  const outfile = path.join(folder, fileName);
  await build({
    target: 'node20.19',
    ...options,
    entryPoints: [path.join(root, 'src/store/lmdbthread.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    outfile,
  });
  return outfile;
}
