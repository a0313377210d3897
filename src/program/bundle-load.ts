/**
 * Loads the bundle, which is one script, together with V8's compiled code of an earlier start. Compiling takes a third
 * of a start. With `WHERRY_PLAIN=1` the script is always compiled, and nothing is cached (see code-cache.ts).
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { openCodeCache } from './code-cache.ts';

/** The cache is written this long after the start, however long that took, so that it contains the functions of a start. */
const keepAfterMs = 1_000;

export interface LoadedBundle<T> {
  readonly exports: T;
  /** Call when the program has started: caches the compiled code for the next start. */
  started(): void;
}

/**
 * @param name file of the bundle in the folder
 * @param program by which compiled code is kept: each program runs other functions when it starts
 */
export function loadBundle<T>(
  folder: string,
  name: string,
  program: string,
  require: NodeJS.Require,
): LoadedBundle<T> {
  const file = path.join(folder, name);
  const cache = openCodeCache(process, `${name}.${program}`);
  const script = new Script(wrapped(file), { filename: file, cachedData: cache?.read() });
  const bundle = { exports: {} as T };
  const run = script.runInThisContext() as (...parts: unknown[]) => void;
  run(bundle.exports, require, bundle, file, folder);
  return {
    exports: bundle.exports,
    started: () => {
      // V8 rejects a cache of another version or with other flags; undefined: there was no cache.
      if (cache && script.cachedDataRejected !== false)
        setTimeout(() => cache.keep(script.createCachedData()), keepAfterMs).unref();
    },
  };
}

/**
 * The text of a file, wrapped as Node does for a CommonJS module. The bundle is ASCII: one byte is one character, which
 * is read and kept in a fraction of the time that UTF-8 takes.
 */
function wrapped(file: string): string {
  const [start, end] = ['(function (exports, require, module, __filename, __dirname) {', '\n})'];
  const opened = openSync(file, 'r');
  try {
    const { size } = fstatSync(opened);
    const bytes = Buffer.allocUnsafeSlow(start.length + size + end.length);
    bytes.write(start, 'latin1');
    for (let at = 0, read = 0; at < size; at += read) {
      read = readSync(opened, bytes, start.length + at, size - at, at);
      if (read === 0) throw new Error(`${file} changed while it was read`);
    }
    bytes.write(end, start.length + size, 'latin1');
    return bytes.toString('latin1');
  } finally {
    closeSync(opened);
  }
}
