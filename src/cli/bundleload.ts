/**
 * Loads the bundle, which is one script, together with V8's compiled code of an earlier start. Compiling takes a third
 * of a start: with the cache, the first answer comes after 255 ms instead of 320. With `WHERRY_PLAIN=1` the script is
 * always compiled, and nothing is cached (see codecache.ts).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { openCodeCache } from './codecache.ts';

/** The cache is written after this time, so that it contains the functions used by then. */
const keepAfterMs = 1_000;

/** What the bundle exports. `name`: its file in the folder. */
export function loadBundle<T>(folder: string, name: string, require: NodeJS.Require): T {
  const file = path.join(folder, name);
  const cache = openCodeCache(process, name);
  const script = new Script(wrapped(readFileSync(file, 'utf8')), {
    filename: file,
    cachedData: cache?.read(),
  });
  const bundle = { exports: {} as T };
  const run = script.runInThisContext() as (...parts: unknown[]) => void;
  run(bundle.exports, require, bundle, file, folder);
  // V8 rejects a cache of another version or with other flags; undefined: there was no cache.
  if (cache && script.cachedDataRejected !== false)
    setTimeout(() => cache.keep(script.createCachedData()), keepAfterMs).unref();
  return bundle.exports;
}

/** Wraps the text as Node does for a CommonJS module. */
function wrapped(text: string): string {
  return `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
}
