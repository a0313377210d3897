/** Removes what agents have left in an engine. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../../machine/folder-care.ts';
import { Spawner } from '../../process/spawner.ts';
import { MemoryMounts } from '../memory-mounts.ts';
import type { EngineCalls } from './container-engine.ts';
import { labels, sandboxName } from './pod-identity.ts';
import { SubPathMounts } from './sub-path-mounts.ts';

/**
 * Removes the containers of a node, or of all of them, the folders of the node's pods, and, when no node has containers
 * any more, what the agents have made for the network. Containers that others have made are never touched. Returns how
 * many containers were removed.
 */
export async function removeLeftovers(
  calls: EngineCalls,
  node: string | undefined,
  folder: string,
  removeNetwork?: (spawner: Spawner) => Promise<void>,
): Promise<number> {
  const all = await calls.list(node === undefined ? {} : { [labels.node]: node });
  const ours = all.filter((one) => one.labels[labels.node] !== undefined);
  const isSandbox = (one: (typeof ours)[number]): boolean => one.labels[labels.container] === sandboxName;
  // Sandboxes last: containers use their namespaces.
  await Promise.all(ours.filter((one) => !isSandbox(one)).map(({ id }) => calls.delete(id, false)));
  await Promise.all(ours.filter(isSandbox).map(({ id }) => calls.delete(id, true)));
  const spawner = new Spawner();
  try {
    await removeFolders(join(folder, 'pods'), spawner);
    const isLast = (await calls.list({})).every((one) => one.labels[labels.node] === undefined);
    if (isLast) await removeNetwork?.(spawner);
  } finally {
    spawner.close();
  }
  return ours.length;
}

async function removeFolders(pods: string, spawner: Spawner): Promise<void> {
  const uids = await readdir(pods).catch(() => []);
  if (!uids.length) return;
  await new MemoryMounts(spawner, pods).unmount();
  for (const uid of uids) {
    await new SubPathMounts(spawner, join(pods, uid, 'volume-subpaths')).release();
    await removeFolder(join(pods, uid));
  }
}
