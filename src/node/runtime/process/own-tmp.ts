/**
 * The /tmp of a container that is a process: an empty folder of its own, removed with the container. Folders of the
 * machine below /tmp that the container names, or works in, stay visible: programs under development are often there.
 */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { ContainerLaunch, Mount } from '../runtime.ts';

const top = '/tmp';
/** Matches paths below a folder of /tmp in the words of a container. */
const named = /\/tmp\/([^\s"'`;:,()/\\]+)(?=\/)/g;
/** Maximum number of such folders; further ones are ignored. */
const foldersMax = 16;

/** The mounts for /tmp, with a new folder; none when a volume is mounted there. */
export async function temporaryMounts(
  { mounts, command, workingDir, container }: ContainerLaunch,
  folder: string,
): Promise<Mount[]> {
  if (mounts.some(({ path }) => posix.resolve('/', path) === top)) return [];
  await mkdir(folder);
  // Every user may write there, whatever the agent's umask.
  await chmod(folder, 0o1777);
  const readOnly = container.securityContext?.readOnlyRootFilesystem === true;
  // Words of its probes, hooks and variables count, too.
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

/** Whether a path is directly below a folder; `..` is not. */
const dirnameIs = (path: string, folder: string): boolean =>
  posix.dirname(path) === folder && path !== folder;
