/** Checks a program before it is started, so that a container that cannot start fails with a known message. */
import { constants } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { platform } from '../../../platform.ts';
import type { ContainerRoot } from './container-root.ts';

const pathDefault = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface ProgramProblem {
  /** As in a shell: 127 for not found, 126 for not executable. */
  readonly exitCode: 126 | 127;
  readonly message: string;
}

/** Why a program cannot be run in a container; undefined when it probably can. */
export async function programProblem(
  name: string,
  root: ContainerRoot,
  env: Readonly<Record<string, string>>,
): Promise<ProgramProblem | undefined> {
  const told = `exec: ${JSON.stringify(name)}`;
  // Which names are programs there, Windows itself knows.
  if (platform.isWindows && name) return undefined;
  if (!name) return { exitCode: 127, message: `${told}: executable file not found in $PATH` };
  if (name.includes('/')) {
    const path = name.startsWith('/')
      ? root.hostPath(name)
      : root.hostPath(posix.join(root.workingDir, name));
    const found = await look(path);
    if (found === 'program') return undefined;
    return found === 'missing'
      ? { exitCode: 127, message: `${told}: stat ${name}: no such file or directory` }
      : { exitCode: 126, message: `${told}: ${found === 'folder' ? 'is a directory' : 'permission denied'}` };
  }
  let refused = false;
  for (const folder of (env['PATH'] ?? pathDefault).split(':')) {
    const found = await look(root.hostPath(posix.resolve(root.workingDir, folder, name)));
    if (found === 'program') return undefined;
    refused ||= found === 'refused';
  }
  return refused
    ? { exitCode: 126, message: `${told}: permission denied` }
    : { exitCode: 127, message: `${told}: executable file not found in $PATH` };
}

async function look(path: string): Promise<'program' | 'folder' | 'refused' | 'hidden' | 'missing'> {
  try {
    if ((await stat(path)).isDirectory()) return 'folder';
  } catch (error) {
    // In a folder that may not be entered: counts as not found.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return 'hidden';
    // A link that is broken here may be valid inside the container.
    return lstat(path).then(
      () => 'program',
      () => 'missing',
    );
  }
  return access(path, constants.X_OK).then(
    () => 'program' as const,
    () => 'refused' as const,
  );
}
