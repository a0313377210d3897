/**
 * Sub paths: a place below the top of a volume. A container controls the volume's content, so any part of the
 * path may be a link that leads out. A link is followed only if its target is inside the volume, and a folder
 * is created only relative to an open folder handle that was reached from the top without following links.
 */
import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

const { O_RDONLY } = constants;
const O_DIRECTORY = constants.O_DIRECTORY ?? 0;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Through /proc/self/fd, names can be resolved relative to an open folder. Elsewhere the path is used, and a
 * container that swaps a link in time could win the race.
 */
const handles = existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;

/** The real path of a sub path. Missing parts are created as folders if `make` is set. */
export async function resolveSubPath(volume: string, subPath: string, make: boolean): Promise<string> {
  const top = await realpath(volume);
  const names = subPath.split('/').filter((name) => name !== '' && name !== '.');
  let known = names.length;
  let place: string | undefined;
  while (place === undefined) {
    try {
      place = await realpath(join(top, ...names.slice(0, known)));
    } catch (error) {
      if (!make || known === 0 || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      known -= 1;
    }
  }
  checkInside(top, place);
  const missing = names.slice(known);
  if (missing.length === 0) return place;
  await makeFolders(top, relative(top, place).split(sep).filter(Boolean), missing);
  const made = join(place, ...missing);
  // Check that no link was put in the path meanwhile.
  if ((await realpath(made)) !== made) throw new Error('the path has changed while it was made');
  return made;
}

function checkInside(top: string, place: string): void {
  const way = relative(top, place);
  if (way === '..' || way.startsWith(`..${sep}`)) throw new Error('the path leads out of the volume');
}

async function makeFolders(top: string, known: readonly string[], missing: readonly string[]): Promise<void> {
  let path = top;
  let folder = await open(top, O_RDONLY | O_DIRECTORY);
  try {
    const mode = (await folder.stat()).mode & 0o7777;
    const enter = async (name: string): Promise<void> => {
      const next = await open(childOf(folder, path, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await folder.close();
      folder = next;
      path = join(path, name);
    };
    for (const name of known) await enter(name);
    for (const name of missing) {
      const made = await mkdir(childOf(folder, path, name)).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return false;
        },
      );
      await enter(name);
      // The mode of the volume's top folder, so that users who may write there may write here.
      if (made) await folder.chmod(mode);
    }
  } finally {
    await folder.close();
  }
}

const childOf = (folder: FileHandle, path: string, name: string): string =>
  handles ? `${handles}/${folder.fd}/${name}` : join(path, name);
