/** Removes what agents have left in an engine. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../../machine/folder-care.ts';
import { Spawner } from '../../process/spawner.ts';
import { MemoryMounts } from '../memory-mounts.ts';
import type { EngineCalls } from './container-engine.ts';
import { labels, sandboxName } from './pod-identity.ts';
import { SubPathMounts } from './sub-path-mounts.ts';

export interface Leftovers {
  /** The node whose containers are removed; undefined: all nodes. */
  readonly node: string | undefined;
  /** The folder of the node's runtime. */
  readonly folder: string;
  /** Whether a living agent uses this folder: its containers are left alone. */
  isInUse(folder: string): boolean;
  removeNetwork?: ((spawner: Spawner) => Promise<void>) | undefined;
}

/** The number of removed containers, and the folders of agents whose containers were left alone. */
export interface Removal {
  readonly removed: number;
  readonly spared: readonly string[];
}

/**
 * Removes the containers of a node, or of all nodes, the folders of the node's pods, and, when no node has containers
 * any more, the network configuration of the agents. Containers of others are never touched.
 */
export async function removeLeftovers(
  calls: EngineCalls,
  { node, folder, isInUse, removeNetwork }: Leftovers,
): Promise<Removal> {
  const all = await calls.list(node === undefined ? {} : { [labels.node]: node });
  const known = all.filter((one) => one.labels[labels.node] !== undefined);
  const spared = [...new Set(known.map((one) => one.labels[labels.folder] ?? ''))].filter(
    (name) => name !== '' && isInUse(name),
  );
  const ours = known.filter((one) => !spared.includes(one.labels[labels.folder] ?? ''));
  const isSandbox = (one: (typeof ours)[number]): boolean => one.labels[labels.container] === sandboxName;
  // Sandboxes last: containers use their namespaces.
  await Promise.all(ours.filter((one) => !isSandbox(one)).map(({ id }) => calls.delete(id, false)));
  await Promise.all(ours.filter(isSandbox).map(({ id }) => calls.delete(id, true)));
  const spawner = new Spawner();
  try {
    if (!isInUse(folder)) await removeFolders(join(folder, 'pods'), spawner);
    const isLast = (await calls.list({})).every((one) => one.labels[labels.node] === undefined);
    if (isLast) await removeNetwork?.(spawner);
  } finally {
    spawner.close();
  }
  return { removed: ours.length, spared };
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
