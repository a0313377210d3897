/**
 * What `wherry` runs first: it loads the command, which is one script, together with the code that V8 has compiled of it
 * before. Compiling takes a third of a start: the first answer comes after 255 ms instead of 320. With `WHERRY_PLAIN=1` the
 * script is compiled, and nothing is kept.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { optimized } from '../switches.ts';

/** The file of the command, whose name changes with its contents; the build puts it in. */
declare const commandFile: string;

/** The compiled code is kept when the command has run for this long, so that what it needed is among it. */
const keepAfterMs = 1_000;

const digestBytes = 32;

const file = path.join(__dirname, commandFile);
// V8 itself makes sure that the version and the flags of the code are its own.
const codeFile = path.join(__dirname, `${commandFile}.${process.version}.${process.arch}.code`);

const script = new Script(wrapped(readFileSync(file, 'utf8')), {
  filename: file,
  cachedData: optimized ? keptCode() : undefined,
});
const run = script.runInThisContext() as (...parts: unknown[]) => void;
run(exports, require, module, file, __dirname, (name: string) => import(name));
if (optimized && script.cachedDataRejected !== false && !hasFlags())
  setTimeout(keepCode, keepAfterMs).unref();

/**
 * As Node does it for modules, with one more part: code that was kept cannot import modules by itself, so the build has
 * put `obtain` for `import`. The first line, which names the interpreter, makes room for it.
 */
function wrapped(text: string): string {
  const end = text.indexOf('\n');
  return `(function (exports, require, module, __filename, __dirname, obtain) {${text.slice(end)}\n})`;
}

/** V8 trusts code blindly, so nothing is handed to it but what was written: the digest of the code, then the code. */
function keptCode(): Buffer | undefined {
  try {
    const bytes = readFileSync(codeFile);
    const code = bytes.subarray(digestBytes);
    return digest(code).equals(bytes.subarray(0, digestBytes)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function digest(code: Buffer): Buffer {
  return createHash('sha256').update(code).digest();
}

/** Code compiled while Node runs with extra flags is of no use to a start without them. */
function hasFlags(): boolean {
  return process.execArgv.length > 0 || process.env['NODE_OPTIONS'] !== undefined;
}

/** Where nothing can be written, every start takes a little longer. */
function keepCode(): void {
  const writing = `${codeFile}.${process.pid}`;
  try {
    const code = script.createCachedData();
    writeFileSync(writing, Buffer.concat([digest(code), code]));
    renameSync(writing, codeFile);
  } catch {
    rmSync(writing, { force: true });
  }
}
