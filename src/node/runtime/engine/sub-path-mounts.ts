/**
 * Mounts sub paths of volumes for container engines, which mount by path. A container that shares the volume could
 * replace a part of the path by a link after it was checked, and lead the engine elsewhere. So the sub path is opened,
 * the open descriptor is checked, and then it is mounted by its descriptor at a path that only the agent can change.
 */
import { constants } from 'node:fs';
import { mkdir, open, readlink, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { mountsBelow } from '../../machine/folder-care.ts';
import type { Spawner } from '../../process/spawner.ts';

/** Linux' flag to open a file without reading it; Node has no name for it. */
const O_PATH = 0o10000000;

export class SubPathMounts {
  constructor(
    private readonly spawner: Spawner,
    /** A folder that only the agent can change. */
    private readonly folder: string,
  ) {}

  /** Mounts a sub path of a volume; returns the mount point. An earlier mount there is replaced. */
  async bind(volume: string, place: string, name: string): Promise<string> {
    const target = join(this.folder, name);
    await this.#unmount(target);
    const handle = await open(place, O_PATH | constants.O_NOFOLLOW);
    try {
      const real = await readlink(`/proc/self/fd/${handle.fd}`);
      const top = await realpath(volume);
      if (real !== top && !real.startsWith(top + sep)) throw new Error('the path leads out of the volume');
      if ((await handle.stat()).isDirectory()) await mkdir(target, { recursive: true });
      else {
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, '');
      }
      // `-c`: do not canonicalize, which would look the path up again.
      await this.#run('mount', '-c', '--bind', `/proc/${process.pid}/fd/${handle.fd}`, target);
    } finally {
      await handle.close();
    }
    return target;
  }

  /** Running containers keep their mounts, in their own mount namespaces. */
  release(): Promise<void> {
    return this.#unmount(this.folder);
  }

  async #unmount(path: string): Promise<void> {
    for (const { point } of await mountsBelow(path)) await this.#run('umount', '-l', point);
  }

  async #run(name: string, ...args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.spawner.run([this.spawner.tool(name) ?? name, ...args]);
    if (code) throw new Error(stderr.trim().replaceAll('\n', '; ') || `${name} has failed`);
  }
}
