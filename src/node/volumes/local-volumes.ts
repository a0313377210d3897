/**
 * Local volumes: folders on this node's disk, made for claims and removed at the request of the API server. The server
 * names a volume and, at removal, its path. This node checks that the path is inside its volumes folder, that no
 * symbolic link leads out of it, and that the folder is named after the volume. Nothing else is ever removed.
 */
import { chmod, lstat, mkdir, readdir, rmdir } from 'node:fs/promises';
import { basename, isAbsolute, join, posix, relative, resolve, sep } from 'node:path';
import { isSubdomain1123 } from '../../api/values/names.ts';
import { makeFolders, removeFolder } from '../machine/folder-care.ts';

/** Maximum depth of a volume below the volumes folder. */
const depthMax = 16;
/** Maximum number of names in an answer of `list`. */
const namesMax = 100_000;
const segment = /^[\w-][\w.-]{0,252}$/;

/** A request that this node refuses; the message says why. */
export class LocalVolumeError extends Error {
  override readonly name = 'LocalVolumeError';
}

export interface NodeVolumes {
  /** Makes the folder of a volume below `under`, a relative path, unless it exists. Returns its path. */
  make(name: string, under: string): Promise<string>;
  /** Removes the folder with its content, or only if it is empty. Succeeds when it is gone already. */
  remove(name: string, path: string, onlyEmpty: boolean): Promise<void>;
  /** Paths of the volumes directly in the volumes folder and one level below. */
  list(): Promise<string[]>;
}

export class LocalVolumes implements NodeVolumes {
  readonly #top: string;

  constructor(folder: string) {
    this.#top = resolve(folder);
  }

  async make(name: string, under: string): Promise<string> {
    checkName(name);
    const segments = [...segmentsOf(under), name];
    await makeFolders(this.#top, 0o755);
    let path = this.#top;
    for (const part of segments) {
      path = join(path, part);
      await mkdir(path, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await this.#checkFolder(path);
    }
    // Containers may run as any user. The mode that mkdir gets is reduced by the umask.
    await chmod(path, 0o777);
    return path;
  }

  async remove(name: string, path: string, onlyEmpty: boolean): Promise<void> {
    checkName(name);
    const inside = relative(this.#top, path);
    const segments = inside.split(sep);
    if (!isAbsolute(path) || resolve(path) !== path || segments.includes('..') || inside === '')
      throw new LocalVolumeError(`${path} is not in ${this.#top}, the folder of this node's volumes`);
    if (basename(path) !== name)
      throw new LocalVolumeError(`${path} is not removed: it is not called ${name}`);
    let folder = this.#top;
    for (const part of segments) {
      folder = join(folder, part);
      if (!(await this.#checkFolder(folder))) return;
    }
    if (onlyEmpty) await rmdir(path).catch(unlessFilled);
    else await removeFolder(path);
  }

  async list(): Promise<string[]> {
    const found: string[] = [];
    const look = async (folder: string, deeper: boolean): Promise<void> => {
      const entries = await readdir(folder, { withFileTypes: true }).catch(unlessMissing);
      for (const entry of entries) {
        if (!entry.isDirectory() || found.length >= namesMax) continue;
        const path = join(folder, entry.name);
        if (isVolumeName(entry.name)) found.push(path);
        else if (deeper) await look(path, false);
      }
    };
    await look(this.#top, true);
    return found;
  }

  /** Whether it exists; throws when it is not a folder, or a link to one. */
  async #checkFolder(path: string): Promise<boolean> {
    const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (stats && !stats.isDirectory()) throw new LocalVolumeError(`${path} is not a folder`);
    return stats !== undefined;
  }
}

/** Volumes of a simulated node: no folder is made. */
export const simulatedVolumes: NodeVolumes = {
  make: async (name, under) => {
    checkName(name);
    return posix.join('/var/lib/wherry/volumes', ...segmentsOf(under), name);
  },
  remove: async () => undefined,
  list: async () => [],
};

const isVolumeName = (name: string): boolean => name.startsWith('pvc-') && isSubdomain1123(name).length === 0;

function checkName(name: string): void {
  if (!isVolumeName(name))
    throw new LocalVolumeError(`${JSON.stringify(name)} is not the name of a volume of this node`);
}

function segmentsOf(under: string): string[] {
  const segments = under === '' ? [] : under.split('/');
  if (segments.length > depthMax || !segments.every((part) => segment.test(part)))
    throw new LocalVolumeError(
      `the path ${JSON.stringify(under)} must be a relative path, at most ${depthMax} folders deep, of letters, digits, '-', '_' and '.'`,
    );
  return segments;
}

const unlessFilled = (error: NodeJS.ErrnoException): void => {
  if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error;
};

const unlessMissing = (error: NodeJS.ErrnoException): never[] => {
  if (error.code === 'ENOENT') return [];
  throw error;
};
