/** Host paths: files and folders of the node itself, checked against the type the pod declares. */
import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { HostPathVolumeSource } from '../../api/generated/types.ts';
import { makeFolders } from '../machine/folder-care.ts';

interface PathType {
  readonly words: string;
  readonly fits: (stats: Stats) => boolean;
  readonly make?: (path: string) => Promise<void>;
}

const directory: PathType = { words: 'directory', fits: (stats) => stats.isDirectory() };
const file: PathType = { words: 'file', fits: (stats) => stats.isFile() };

const types: Record<string, PathType> = {
  Directory: directory,
  DirectoryOrCreate: { ...directory, make: makeFolder },
  File: file,
  FileOrCreate: { ...file, make: makeFile },
  Socket: { words: 'socket file', fits: (stats) => stats.isSocket() },
  CharDevice: { words: 'character device', fits: (stats) => stats.isCharacterDevice() },
  BlockDevice: { words: 'block device', fits: (stats) => stats.isBlockDevice() },
  // Not checked. A missing path is created as a folder, as container runtimes do.
  '': { words: 'file or directory', fits: () => true, make: makeFolder },
};

/** Checks or creates the path, and returns it. */
export async function prepareHostPath({ path = '', type = '' }: HostPathVolumeSource): Promise<string> {
  if (!isAbsolute(path)) throw new Error(`hostPath ${JSON.stringify(path)} must be an absolute path`);
  if (path.split('/').includes('..'))
    throw new Error(`hostPath ${JSON.stringify(path)} must not contain '..'`);
  const wanted = Object.hasOwn(types, type) ? types[type]! : undefined;
  if (!wanted) throw new Error(`${type} is an invalid volume type`);
  const stats = await statsOf(path);
  if (!stats && wanted.make) await wanted.make(path);
  else if (!stats || !wanted.fits(stats))
    throw new Error(`hostPath type check failed: ${path} is not a ${wanted.words}`);
  return path;
}

/** Undefined when nothing exists there. */
async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function makeFolder(path: string): Promise<void> {
  await makeFolders(path, 0o755);
}

/** The parent folder must exist. */
async function makeFile(path: string): Promise<void> {
  await (await open(path, 'a', 0o644)).close();
}
