/** Loads LMDB: the JavaScript that the bundle contains, if it is of the installed version, or the installed package. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

type Lmdb = typeof import('lmdb');

/** Part of the bundle (`scripts/lmdb.mjs`), which is told where the package is; not defined in tests. */
declare const bundledLmdb: { readonly version: string; readonly load: (file: string) => Lmdb } | undefined;

export interface LmdbLibrary {
  /** The file of the installed package, for other threads. */
  readonly file: string;
  readonly load: () => Lmdb;
}

/** Finds the package; throws when it is not installed. */
export function findLmdb(): LmdbLibrary {
  const require = createRequire(import.meta.url);
  // The package's single CommonJS file loads in half the time of its many ES modules.
  const file = require.resolve('lmdb');
  const bundled = typeof bundledLmdb === 'object' && bundledLmdb.version === versionAt(file);
  return { file, load: () => (bundled ? bundledLmdb!.load(file) : (require(file) as Lmdb)) };
}

/** JavaScript and native code must be of one version; a program may have chosen another one for its packages. */
function versionAt(file: string): string | undefined {
  try {
    const text = readFileSync(join(dirname(file), '..', 'package.json'), 'utf8');
    return (JSON.parse(text) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
