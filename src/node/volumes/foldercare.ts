/** Care when folders are made and removed: never what is mounted into them, which may be anybody's. */
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Somebody may still be writing when removal begins. */
const tries = 5;
const retryMs = 50;

/**
 * Makes a folder and those above it. Node's own recursive `mkdir` tries for ever, in a thread that others wait for,
 * where the kernel says that a folder does not exist though its parent does, as in /proc.
 */
export async function makeFolders(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') {
      await makeFolders(dirname(path), mode);
      await mkdir(path, { mode });
      return;
    }
    const there = await stat(path).catch(() => undefined);
    if (!there?.isDirectory()) throw error;
  }
}

/** Removes a folder with all that is in it, or a file. Throws when something is mounted there. */
export async function removeFolder(path: string): Promise<void> {
  const [mounted] = await mountsBelow(path);
  if (mounted !== undefined) throw new Error(`${path} is not removed: something is mounted at ${mounted}`);
  await rm(path, { recursive: true, force: true, maxRetries: tries, retryDelay: retryMs });
}

/** Mount points in a folder, the deepest first. */
async function mountsBelow(path: string): Promise<string[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => unescaped(line.split(' ')[4] ?? ''))
    .filter((point) => point === path || point.startsWith(`${path}/`))
    .sort((a, b) => b.length - a.length);
}

const unescaped = (point: string): string =>
  point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
