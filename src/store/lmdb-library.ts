/** Loads LMDB: the JavaScript that the bundle contains, if it is of the installed version, or the installed package. */
import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

type Lmdb = typeof import('lmdb');

/** Part of the bundle (`scripts/build/lmdb.mjs`), loaded with the place of the package; not defined in tests. */
declare const bundledLmdb: { readonly version: string; readonly load: (file: string) => Lmdb } | undefined;

export interface LmdbLibrary {
  /** The file of the installed package, for other threads. */
  readonly file: string;
  readonly load: () => Lmdb;
}

/** Finds the package; throws when it is not installed. */
export function findLmdb(): LmdbLibrary {
  const require = createRequire(import.meta.url);
  const bundled = typeof bundledLmdb === 'object' ? bundledLmdb : undefined;
  const file = bundled && installedAs(bundled.version, require.resolve.paths('lmdb') ?? []);
  if (file !== undefined) return { file, load: () => bundled!.load(file) };
  // The package's single CommonJS file loads in half the time of its many ES modules.
  const other = require.resolve('lmdb');
  return { file: other, load: () => require(other) as Lmdb };
}

/**
 * The file of the package that Node would find, if it has this version; otherwise undefined. JavaScript and native code
 * must have the same version, and a program may have installed another one for its packages. Node's own search takes
 * five times as long.
 */
function installedAs(version: string, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    try {
      const found = join(folder, 'lmdb');
      const text = readFileSync(join(found, 'package.json'), 'utf8');
      if ((JSON.parse(text) as { version?: string }).version !== version) return undefined;
      return realpathSync(join(found, 'dist', 'index.cjs'));
    } catch (error) {
      // Let Node's own search report a package that is there but broken.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined;
    }
  }
  return undefined;
}
