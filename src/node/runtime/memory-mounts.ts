/**
 * Volumes in memory: a tmpfs mounted over the folder of the volume, so that all containers of the pod see it.
 * If the agent is killed, its reaper or the next agent unmounts them.
 */
import { join } from 'node:path';
import { type MountPoint, mountsBelow } from '../machine/folder-care.ts';
import type { Spawner } from '../process/spawner.ts';
import type { MemoryMount } from './runtime.ts';

export class MemoryMounts {
  constructor(
    private readonly spawner: Spawner,
    /** The folder of the pods. */
    private readonly folder: string,
  ) {}

  /** Mounts a tmpfs, unless one is mounted already. */
  async mount(path: string, { mode, group, bytesMax }: MemoryMount): Promise<void> {
    if ((await mountsBelow(path)).some(isVolume)) return;
    const options = [
      'nosuid',
      'nodev',
      `mode=${mode.toString(8)}`,
      ...(group === undefined ? [] : [`gid=${group}`]),
      ...(bytesMax === undefined ? [] : [`size=${bytesMax}`]),
    ];
    await this.#run('mount', '-t', 'tmpfs', '-o', options.join(','), 'tmpfs', path);
  }

  /** Unmounts the volumes of one pod, or of all. Running containers keep theirs, in their own mount namespaces. */
  async unmount(uid = ''): Promise<void> {
    for (const mount of await mountsBelow(join(this.folder, uid)))
      if (isVolume(mount)) await this.#run('umount', '-l', mount.point);
  }

  async #run(name: string, ...args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.spawner.run([this.spawner.tool(name) ?? name, ...args]);
    if (code) throw new Error(stderr.trim().replaceAll('\n', '; ') || `${name} has failed`);
  }
}

/** Other mounts below the folder were not made by the agent, and stay. */
const isVolume = ({ point, type }: MountPoint): boolean =>
  type === 'tmpfs' && /\/pods\/[^/]+\/volumes\/[^/]+$/.test(point);
