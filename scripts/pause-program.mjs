/**
 * Proves what the sandbox programs in `pause-program.ts` are: assembles their sources, which stand beside it, and compares
 * the bytes. `node scripts/pause-program.mjs` says for each architecture whether they are the same, and prints what the
 * source gives where they are not. It needs binutils for both, Debian's binutils-x86-64-linux-gnu and
 * binutils-aarch64-linux-gnu.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { transformSync } from 'esbuild';

const folder = path.join(path.dirname(import.meta.dirname), 'src', 'node', 'runtime', 'engine');
/** What begins the names of the tools, by the name that Go has for the architecture. */
const tools = { amd64: 'x86_64-linux-gnu-', arm64: 'aarch64-linux-gnu-' };
/** A tar archive has its contents behind a header of this size, which says their length there in octal. */
const headerBytes = 512;
const lengthAt = 124;
const lengthDigits = 11;

/** The bytes that a source gives, undecorated: the sources write the header of the executable themselves. */
function assemble(architecture, source) {
  const made = mkdtempSync(path.join(tmpdir(), 'wherry-pause-'));
  const [object, program] = ['program.o', 'program'].map((name) => path.join(made, name));
  try {
    execFileSync(`${tools[architecture]}as`, ['-o', object, source]);
    execFileSync(`${tools[architecture]}objcopy`, ['-O', 'binary', '-j', '.text', object, program]);
    return readFileSync(program);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** The function that makes the archive with a program. It is alone in its file, so the file is all that is needed. */
async function archiveMaker() {
  const { code } = transformSync(readFileSync(path.join(folder, 'pause-program.ts'), 'utf8'), {
    loader: 'ts',
    format: 'esm',
  });
  const { pauseArchive } = await import(
    `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`
  );
  return pauseArchive;
}

function programIn(archive) {
  const length = Number.parseInt(archive.toString('latin1', lengthAt, lengthAt + lengthDigits), 8);
  return archive.subarray(headerBytes, headerBytes + length);
}

/** @param sources the folder of the sources, if they are not those of the project */
export async function comparePrograms(sources = folder) {
  const pauseArchive = await archiveMaker();
  return Object.keys(tools).map((architecture) => {
    const assembled = assemble(architecture, path.join(sources, `pause-${architecture}.s`));
    const kept = programIn(pauseArchive(architecture));
    return { architecture, assembled, isSame: assembled.equals(kept) };
  });
}

if (process.argv[1] === import.meta.filename)
  for (const { architecture, assembled, isSame } of await comparePrograms()) {
    if (isSame) process.stdout.write(`${architecture}: the ${assembled.length} bytes of its source\n`);
    else {
      process.stdout.write(`${architecture}: NOT its source, which gives\n${assembled.toString('base64')}\n`);
      process.exitCode = 1;
    }
  }
