/** Makes and removes folders; removal refuses when something is mounted inside, because that may be foreign data. */
import { mkdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Attempts at removal: a process may still be writing into the folder. */
const tries = 5;
const retryMs = 50;

/**
 * Makes a folder and its parents. Not with Node's recursive `mkdir`: that loops for ever in a thread of the
 * shared pool where the kernel answers ENOENT although the parent exists, as in /proc.
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
  if (mounted) throw new Error(`${path} is not removed: something is mounted at ${mounted.point}`);
  await rm(path, { recursive: true, force: true, maxRetries: tries, retryDelay: retryMs });
}

export interface MountPoint {
  readonly point: string;
  /** File system type, such as `tmpfs`. */
  readonly type: string;
}

/** Mount points inside a folder, the deepest first. */
export async function mountsBelow(path: string): Promise<MountPoint[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  // The kernel's list has paths without symbolic links.
  const folder = await realpath(path).catch(() => path);
  return text
    .split('\n')
    .map((line) => {
      const [head = '', tail = ''] = line.split(' - ');
      return { point: unescaped(head.split(' ')[4] ?? ''), type: tail.split(' ')[0] ?? '' };
    })
    .filter(({ point }) => point === folder || point.startsWith(folder === '/' ? '/' : `${folder}/`))
    .sort((a, b) => b.point.length - a.point.length);
}

const unescaped = (point: string): string =>
  point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
