/**
 * The root of a container: where it finds its mounts. There are two kinds. With root rights, a container has
 * a mount namespace in which every mount is at its path (`namespace-root.ts`). Without, it has a folder with a
 * link per mount, named by the variable `WHERRY_ROOT`.
 */
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readlink, rmdir, stat, symlink, unlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { resolveSubPath } from '../../volumes/sub-path.ts';
import { type Mount, StartFailure } from '../runtime.ts';
import type { ProcessUser } from './container-user.ts';

export interface RootRequest {
  /** A folder for this root, which does not exist yet. */
  readonly folder: string;
  readonly mounts: readonly Mount[];
  readonly workingDir: string | undefined;
  /** The host name inside; only a root with namespaces can set it. */
  readonly hostname?: string | undefined;
  /** Whether nothing but the mounts can be written to; only a root with namespaces can prevent it. */
  readonly readOnly?: boolean | undefined;
}

export interface RootEntry {
  readonly command: readonly string[];
  readonly user: ProcessUser;
  /** `NAME=VALUE` pairs, set just before the command runs. */
  readonly lateVariables: readonly string[];
}

export interface EntryLine {
  readonly command: string[];
  /** The working directory to start it in. */
  readonly cwd: string;
}

export interface ContainerRoot {
  /** The value of `WHERRY_ROOT`. */
  readonly path: string;
  readonly workingDir: string;
  /** The path on this machine for a path of the container. */
  hostPath(path: string): string;
  /** The command line that runs a command inside this root. */
  enter(entry: RootEntry): EntryLine;
  release(): Promise<void>;
}

/** Mounts by absolute path, outer ones first. Throws `StartFailure` for mounts that are not possible. */
export function sortedMounts(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map<string, Mount>();
  for (const mount of mounts) {
    const path = posix.normalize(mount.path).replace(/(?<=.)\/$/, '');
    if (!path.startsWith('/') || path === '/' || path.includes('\0'))
      throw new StartFailure('CreateContainerError', `cannot mount at ${JSON.stringify(mount.path)}`);
    if (!byPath.has(path)) byPath.set(path, { ...mount, path });
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The mount that contains a path, and the path relative to the mount. */
export function mountOf(
  path: string,
  mounts: readonly Mount[],
): { readonly mount: Mount; readonly rest: string } | undefined {
  const found = mounts.findLast((mount) => isWithin(path, mount.path));
  return found && { mount: found, rest: path.slice(found.path.length + 1) };
}

export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** A root that is a folder with a link for every mount. */
export class FolderRoot implements ContainerRoot {
  private constructor(
    readonly path: string,
    readonly workingDir: string,
    private readonly envTool: string | undefined,
  ) {}

  static async make({ folder, mounts, workingDir }: RootRequest, envTool?: string): Promise<FolderRoot> {
    await mkdir(folder, { recursive: true });
    // The container's user must be able to enter it, whatever the agent's umask.
    await chmod(folder, 0o755);
    const sorted = sortedMounts(mounts);
    for (const mount of sorted) await linkMount(folder, mount, sorted);
    return new FolderRoot(folder, await startFolder(folder, workingDir, sorted), envTool);
  }

  hostPath(path: string): string {
    const inside = join(this.path, path);
    return existsSync(inside) ? inside : path;
  }

  enter({ command, user, lateVariables }: RootEntry): EntryLine {
    const late = lateVariables.length ? [this.envTool ?? 'env', ...lateVariables] : [];
    const [program = '', ...args] = command;
    // Translate the path of a program in a mount. Arguments are not translated: whether they are paths is unknown.
    const file = program.startsWith('/') ? this.hostPath(program) : program;
    return { command: [...user.prefix, ...late, file, ...args], cwd: this.workingDir };
  }

  async release(): Promise<void> {
    // Nothing to release besides the folder.
  }
}

async function linkMount(root: string, mount: Mount, mounts: readonly Mount[]): Promise<void> {
  const target = await placeFor(root, mount, mounts);
  try {
    await symlink(mount.source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await replaceWithLink(mount, target);
  }
}

/** Where to put the link. Inside another mount, the link is created in that mount's source. */
async function placeFor(root: string, mount: Mount, mounts: readonly Mount[]): Promise<string> {
  const outer = mountOf(
    dirname(mount.path),
    mounts.filter((other) => other !== mount),
  );
  const parent = outer
    ? await resolveSubPath(outer.mount.source, outer.rest, true)
    : join(root, dirname(mount.path));
  await mkdir(parent, { recursive: true });
  return join(parent, posix.basename(mount.path));
}

/**
 * Replaces an older link, or an empty folder that was created as mount point. Anything else is user data, and
 * stays.
 */
async function replaceWithLink(mount: Mount, target: string): Promise<void> {
  const there = await lstat(target);
  if (there.isSymbolicLink() && (await readlink(target)) === mount.source) return;
  try {
    await (there.isDirectory() ? rmdir(target) : unlink(target));
  } catch {
    throw new StartFailure('CreateContainerError', `cannot mount at ${mount.path}: something else is there`);
  }
  await symlink(mount.source, target);
}

/** The working directory: looked for in the root, then on the machine; a missing one is created. */
async function startFolder(
  root: string,
  wanted: string | undefined,
  mounts: readonly Mount[],
): Promise<string> {
  if (!wanted) return root;
  const inside = join(root, posix.resolve('/', wanted));
  if (await isFolder(inside)) return inside;
  const volume = mountOf(posix.resolve('/', wanted), mounts);
  if (volume) return resolveSubPath(volume.mount.source, volume.rest, true);
  if (await isFolder(posix.resolve('/', wanted))) return posix.resolve('/', wanted);
  await mkdir(inside, { recursive: true });
  return inside;
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
