/**
 * The folder /tmp of a container that is a process: empty, its own, and gone with it. Folders of the machine below /tmp
 * that the container names, or works in, stay visible: programs that are being developed are often there.
 */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { ContainerLaunch, Mount } from '../runtime.ts';

const top = '/tmp';
/** A path below a folder of /tmp, in the words of a container. */
const named = /\/tmp\/([^\s"'`;:,()/\\]+)(?=\/)/g;
/** Folders that a container may name; more are not looked for. */
const foldersMax = 16;

/** The mounts for /tmp, with a new folder; none when a volume is there. */
export async function temporaryMounts(
  { mounts, command, workingDir, container }: ContainerLaunch,
  folder: string,
): Promise<Mount[]> {
  if (mounts.some(({ path }) => posix.resolve('/', path) === top)) return [];
  await mkdir(folder);
  // As every user may write there, whatever the agent's umask.
  await chmod(folder, 0o1777);
  const readOnly = container.securityContext?.readOnlyRootFilesystem === true;
  // Also in its probes, hooks and variables.
  const words = [...command, `${workingDir ?? ''}/`, JSON.stringify(container)].join('\n');
  const names = new Set([...words.matchAll(named)].map(([, name]) => name!));
  const found: Mount[] = [{ path: top, source: folder, readOnly }];
  for (const name of [...names].slice(0, foldersMax)) {
    const source = join(top, name);
    const isFolder = await stat(source).then(
      (one) => one.isDirectory(),
      () => false,
    );
    if (isFolder && dirnameIs(source, top)) found.push({ path: source, source, readOnly });
  }
  return found;
}

/** Whether a path is right below a folder: `..` is not. */
const dirnameIs = (path: string, folder: string): boolean =>
  posix.dirname(path) === folder && path !== folder;
