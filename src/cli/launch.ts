/**
 * What `wherry` runs first: it loads the bundle, which is one script, together with the code that V8 compiled from it at
 * an earlier start. Compiling takes a third of a start: the first answer comes after 255 ms instead of 320. With
 * `WHERRY_PLAIN=1` the script is compiled, and nothing is kept (see codecache.ts).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { openCodeCache } from './codecache.ts';

/** The file of the bundle, whose name changes with its contents; the build puts it in. */
declare const bundleFile: string;

/** Code is kept when the command has run for this long, so that the functions it needed by then are compiled in it. */
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
// V8 refuses code of another version or with other flags; undefined: there was none.
if (cache && script.cachedDataRejected !== false)
  setTimeout(() => cache.keep(script.createCachedData()), keepAfterMs).unref();

/** As Node does it for a CommonJS module. */
function wrapped(text: string): string {
  return `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
}
