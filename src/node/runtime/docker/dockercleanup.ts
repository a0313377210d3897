/** Finds an engine, and removes what agents have left in it. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../../volumes/foldercare.ts';
import { labels, sandboxName } from '../engine/podidentity.ts';
import { SubPathMounts } from '../engine/subpathmounts.ts';
import { MemoryMounts } from '../memorymounts.ts';
import { Spawner } from '../spawner.ts';
import { DockerApi, isDone } from './dockerapi.ts';
import { dockerSockets, existing } from './dockersockets.ts';
import type { ListedContainer } from './dockertypes.ts';

/** How long an engine may take for its first answer. */
const firstAnswerMs = 5_000;

/** The first engine that answers. */
export async function openDocker(socket: string | undefined): Promise<DockerApi | undefined> {
  for (const path of existing(dockerSockets(socket))) {
    const api = new DockerApi(path);
    try {
      await api.negotiate(firstAnswerMs);
      return api;
    } catch {
      api.close();
    }
  }
  return undefined;
}

/**
 * Removes the containers of a node, or of all of them, and the folders of the node's pods. Containers that others have
 * made are never touched. Returns how many containers were removed.
 */
export async function removeLeftovers(
  api: DockerApi,
  node: string | undefined,
  folder: string,
): Promise<number> {
  const filters = JSON.stringify({ label: [node === undefined ? labels.node : `${labels.node}=${node}`] });
  const ours = await api.json<ListedContainer[]>('GET', '/containers/json', {
    query: { all: true, filters },
  });
  const isSandbox = ({ Labels }: ListedContainer): boolean => Labels?.[labels.container] === sandboxName;
  // Sandboxes last: containers use their namespaces.
  for (const part of [ours.filter((one) => !isSandbox(one)), ours.filter(isSandbox)])
    await Promise.all(
      part.map(({ Id }) =>
        api.json('DELETE', `/containers/${Id}`, { query: { force: true, v: true } }).catch((error) => {
          if (!isDone(error)) throw error;
        }),
      ),
    );
  await removeFolders(join(folder, 'pods'));
  return ours.length;
}

async function removeFolders(pods: string): Promise<void> {
  const uids = await readdir(pods).catch(() => []);
  if (!uids.length) return;
  const spawner = new Spawner();
  try {
    await new MemoryMounts(spawner, pods).unmount();
    for (const uid of uids) {
      await new SubPathMounts(spawner, join(pods, uid, 'volume-subpaths')).release();
      await removeFolder(join(pods, uid));
    }
  } finally {
    spawner.close();
  }
}
