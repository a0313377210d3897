/**
 * Volumes in memory: a file system of the kernel's (tmpfs) mounted over the folder of the volume, so that all containers
 * of the pod see it. What a killed agent has left mounted is unmounted by its reaper, or by the next agent.
 */
import { join } from 'node:path';
import { type MountPoint, mountsBelow } from '../volumes/foldercare.ts';
import type { MemoryMount } from './runtime.ts';
import type { Spawner } from './spawner.ts';

export class MemoryMounts {
  constructor(
    private readonly spawner: Spawner,
    /** The folder of the pods. */
    private readonly folder: string,
  ) {}

  /** Mounts one, unless it is there already. */
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

  /** Unmounts those of one pod, or of all. Containers that still run keep theirs. */
  async unmount(uid = ''): Promise<void> {
    for (const mount of await mountsBelow(join(this.folder, uid)))
      if (isVolume(mount)) await this.#run('umount', '-l', mount.point);
  }

  async #run(name: string, ...args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.spawner.run([this.spawner.tool(name) ?? name, ...args]);
    if (code) throw new Error(stderr.trim().replaceAll('\n', '; ') || `${name} has failed`);
  }
}

/** Other mounts there were not made by the agent, and stay. */
const isVolume = ({ point, type }: MountPoint): boolean =>
  type === 'tmpfs' && /\/pods\/[^/]+\/volumes\/[^/]+$/.test(point);
