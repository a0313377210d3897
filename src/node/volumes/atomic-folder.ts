/**
 * An atomic folder: all its files change at once. As in Kubernetes the files are in a folder with a timestamp in its
 * name, the link `..data` points at that folder, and the container sees links through `..data`:
 *
 *     token → ..data/token
 *     ..data → ..2026_01_31_12_00_00.k3v9aq
 *     ..2026_01_31_12_00_00.k3v9aq/token
 *
 * Replacing `..data` changes every file in one step, and programs that watch the link are notified.
 *
 * A container may have tampered with the folder. So nothing is written through a link, nothing is read back, and
 * foreign entries are removed; of a link only the link itself, not its target.
 */
import { createHash, randomInt } from 'node:crypto';
import { chmod, lchown, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isRelativePath } from '../../api/values/names.ts';

const dataLink = '..data';
const nextDataLink = '..data_tmp';
const pathCharsMax = 4096;
const nameBytesMax = 255;
/** Maximum size of all files: a projected volume may combine many objects of a megabyte. */
const folderBytesMax = 32 * 1024 * 1024;
const filesMax = 10_000;

export interface ProjectedFile {
  readonly data: Buffer;
  readonly mode: number;
  /** The file's owner, if it is not the agent's user. */
  readonly uid?: number;
}

/** Files by path. */
export type ProjectedFiles = ReadonlyMap<string, ProjectedFile>;

export interface AtomicFolderOptions {
  readonly path: string;
  readonly now: () => number;
  /** The group that may read the files; only if the agent may change owners (root). */
  readonly group: number | undefined;
  /** Whether the files are in the folder itself, without links, and are replaced one by one, as in Kubernetes 1.1. */
  readonly isPlain?: boolean;
}

export class AtomicFolder {
  readonly path: string;
  /** A digest of the current files. */
  #written: string | undefined;

  constructor(private readonly options: AtomicFolderOptions) {
    this.path = options.path;
  }

  /** Replaces the files of the folder; returns whether they differ from the former ones. */
  async write(given: ProjectedFiles): Promise<boolean> {
    const files = cleaned(given);
    const digest = digestOf(files);
    if (digest === this.#written) return false;
    await this.#ensureFolder();
    if (this.options.isPlain) return this.#writePlain(files, digest);
    const data = await this.#writeData(files);
    const names = new Set([...files.keys()].map((path) => path.split('/', 1)[0]!));
    try {
      for (const name of names) await this.#link(name);
      await this.#swap(basename(data));
    } catch (error) {
      await rm(data, { recursive: true, force: true });
      throw error;
    }
    this.#written = digest;
    await this.#sweep(new Set([dataLink, basename(data), ...names]));
    return true;
  }

  /** Writes each file to a temporary name and moves it into place, so that programs never read a part of it. */
  async #writePlain(files: ProjectedFiles, digest: string): Promise<boolean> {
    const aside = await this.#writeData(files);
    try {
      const folders = new Set<string>();
      for (const path of files.keys()) {
        await this.#makeFolders(this.path, dirname(path), folders);
        const place = join(this.path, path);
        if ((await lstat(place).catch(() => undefined))?.isDirectory()) await rm(place, { recursive: true });
        await rename(join(aside, path), place);
      }
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
    this.#written = digest;
    await this.#sweep(new Set([...files.keys()].map((path) => path.split('/', 1)[0]!)));
    return true;
  }

  async #ensureFolder(): Promise<void> {
    await mkdir(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (!(await lstat(this.path)).isDirectory())
      throw new Error('the place of the volume is not a directory');
    await this.#openTo(this.path);
  }

  /** Writes the files into a new folder that no link points at yet. */
  async #writeData(files: ProjectedFiles): Promise<string> {
    const time = new Date(this.options.now()).toISOString().slice(0, 19).replace(/[-T:]/g, '_');
    // In small letters, as all names here that are not of the user: file systems may ignore or change case.
    const data = join(
      this.path,
      `..${time}.${randomInt(36 ** 6)
        .toString(36)
        .padStart(6, '0')}`,
    );
    await mkdir(data, 0o700);
    try {
      await this.#openTo(data);
      const folders = new Set<string>();
      for (const [path, file] of files) {
        await this.#makeFolders(data, dirname(path), folders);
        await this.#writeFile(join(data, path), file);
      }
    } catch (error) {
      await rm(data, { recursive: true, force: true });
      throw error;
    }
    return data;
  }

  async #makeFolders(data: string, folder: string, made: Set<string>): Promise<void> {
    if (folder === '.' || made.has(folder)) return;
    await this.#makeFolders(data, dirname(folder), made);
    const path = join(data, folder);
    // A plain folder may have it from before; anything but a folder was put there by a container.
    if (!(await lstat(path).catch(() => undefined))?.isDirectory()) {
      await rm(path, { force: true });
      await mkdir(path);
    }
    await this.#openTo(path);
    made.add(folder);
  }

  async #writeFile(path: string, { data, mode, uid }: ProjectedFile): Promise<void> {
    // `wx`: never open something that exists, such as a planted link. chmod sets the mode, because open()
    // applies umask.
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(data);
      const { group } = this.options;
      if (group !== undefined || uid !== undefined)
        await file.chown(uid ?? process.getuid!(), group ?? process.getgid!());
      await file.chmod(group === undefined ? mode : mode | 0o440);
    } finally {
      await file.close();
    }
  }

  /** Makes a folder readable to all users. With a group: sets it, and setgid, so that new files get it, too. */
  async #openTo(folder: string): Promise<void> {
    const { group } = this.options;
    if (group !== undefined) await lchown(folder, process.getuid!(), group);
    await chmod(folder, group === undefined ? 0o755 : 0o2755);
  }

  async #link(name: string): Promise<void> {
    const path = join(this.path, name);
    const target = `${dataLink}/${name}`;
    if ((await readlink(path).catch(() => undefined)) === target) return;
    await rm(path, { recursive: true, force: true });
    await symlink(target, path);
  }

  async #swap(data: string): Promise<void> {
    const next = join(this.path, nextDataLink);
    const current = join(this.path, dataLink);
    await rm(next, { recursive: true, force: true });
    await symlink(data, next);
    await rename(next, current).catch(async () => {
      // Remove what is there if it is not a link.
      await rm(current, { recursive: true, force: true });
      await rename(next, current);
    });
  }

  /** A file system that ignores case may show a wanted file by a name with other letters, such as one of before. */
  async #sweep(wanted: ReadonlySet<string>): Promise<void> {
    const alike = new Map([...wanted].map((name) => [name.toLowerCase(), name]));
    const inode = async (name: string) => (await lstat(join(this.path, name)).catch(() => undefined))?.ino;
    for (const name of await readdir(this.path)) {
      const other = alike.get(name.toLowerCase());
      const isWanted =
        wanted.has(name) || (other !== undefined && (await inode(name)) === (await inode(other)));
      if (!isWanted) await rm(join(this.path, name), { recursive: true, force: true });
    }
  }
}

/** The files with normalised paths; throws when one is not inside the folder. */
function cleaned(given: ProjectedFiles): Map<string, ProjectedFile> {
  if (given.size > filesMax) throw new Error(`a volume may not have more than ${filesMax} files`);
  const files = new Map<string, ProjectedFile>();
  let bytes = 0;
  for (const [path, file] of given) {
    files.set(plainPath(path), file);
    bytes += file.data.length;
    if (bytes > folderBytesMax) throw new Error(`a volume may not have more than ${folderBytesMax} bytes`);
  }
  for (const path of files.keys())
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
      if (files.has(folder)) throw new Error(`invalid path: ${folder} is both a file and a directory`);
  return files;
}

function plainPath(path: string): string {
  const [problem] = isRelativePath(path, true);
  if (problem) throw new Error(`invalid path: ${problem}: ${path}`);
  if (path.length > pathCharsMax)
    throw new Error(`invalid path: must be less than or equal to ${pathCharsMax} characters`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length === 0 || path.includes('\0') || path.endsWith('/'))
    throw new Error(`invalid path: must name a file: ${JSON.stringify(path)}`);
  // After normalisation: `./..data` is `..data`.
  if (names[0]!.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`);
  if (names.some((name) => Buffer.byteLength(name) > nameBytesMax))
    throw new Error(`invalid path: filenames must be less than or equal to ${nameBytesMax} characters`);
  return names.join('/');
}

function digestOf(files: ProjectedFiles): string {
  const digest = createHash('sha256');
  for (const path of [...files.keys()].sort()) {
    const { data, mode, uid = -1 } = files.get(path)!;
    digest.update(`${JSON.stringify(path)} ${mode} ${uid} ${data.length}\n`).update(data);
  }
  return digest.digest('hex');
}
