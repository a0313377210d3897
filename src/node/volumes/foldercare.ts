/** Care when folders are removed: never what is mounted into them, which may be anybody's. */
import { readFile, rm } from 'node:fs/promises';

/** Somebody may still be writing when removal begins. */
const tries = 5;
const retryMs = 50;

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
