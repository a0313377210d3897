/** The store of the sources, bundled into a folder, as benchmarks that fill a data folder by themselves use it. */
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { buildThread, defineThread } from '../../scripts/build/thread.mjs';

const root = path.resolve(import.meta.dirname, '../..');

/** Returns the exports of `src/store/lmdb.ts`. */
export async function bundledStore(folder) {
  // So that the bundle finds `lmdb`.
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const outfile = path.join(folder, 'lmdb.mjs');
  await build({
    entryPoints: [path.join(root, 'src/store/lmdb.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    define: defineThread,
  });
  await buildThread(folder);
  return import(pathToFileURL(outfile).href);
}
