/** The calls that all engines have in common, for engines with CRI; and how an engine is found. */

import { existing } from '../docker/docker-sockets.ts';
import type { EngineCalls, FoundContainer } from '../engine/container-engine.ts';
import { CriApi, isGone, isUnreachable } from './cri-api.ts';
import { criSockets } from './cri-sockets.ts';

/** How long an engine may take for its first answer. */
const firstAnswerMs = 5_000;

const states = ['created', 'running', 'ended'] as const;
export const runningState = states.indexOf('running');
/** CRI's code of a sandbox that is ready. */
export const readyState = 0;

/** The first engine that answers. Docker's containerd has a socket, too, but does not speak CRI by default. */
export async function openCri(socket: string | undefined): Promise<CriApi | undefined> {
  for (const path of existing(criSockets(socket))) {
    const api = new CriApi(path);
    try {
      await api.call('Version', {}, { timeoutMs: firstAnswerMs });
      return api;
    } catch {
      api.close();
    }
  }
  return undefined;
}

function ignoreGone(error: unknown): void {
  if (!isGone(error)) throw error;
}

export const criCalls = (api: CriApi): EngineCalls => ({
  list: async (labels) => {
    const filter = { labels };
    const [{ containers = [] }, { items = [] }] = await Promise.all([
      api.call('ListContainers', { filter }),
      api.call('ListPodSandbox', { filter }),
    ]);
    return [
      ...containers.map(
        ({ id = '', labels: of = {}, state = 0, sandbox = '', imageRef = '', imageId }): FoundContainer => ({
          id,
          labels: of,
          // Unknown states count as ended: the engine cannot tell that it runs.
          state: states[state] ?? 'ended',
          // New engines have a field for the image; with others the reference is its id.
          imageId: imageId || imageRef,
          sandbox,
        }),
      ),
      ...items.map(
        ({ id = '', labels: of = {}, state = 0 }): FoundContainer => ({
          id,
          labels: of,
          state: state === readyState ? 'running' : 'ended',
          imageId: '',
          sandbox: '',
        }),
      ),
    ];
  },
  delete: async (id, isSandbox) => {
    if (!isSandbox) {
      await api.call('StopContainer', { id, timeout: 0 }).catch(ignoreGone);
      return void (await api.call('RemoveContainer', { id }).catch(ignoreGone));
    }
    await api.call('StopPodSandbox', { id }).catch(ignoreGone);
    await api.call('RemovePodSandbox', { id }).catch(ignoreGone);
  },
  imageFolder: async () => {
    const { disks = [] } = await api.call('ImageFsInfo', {});
    return disks[0]?.place?.folder ?? '';
  },
  removeImage: async (id) => {
    const image = { image: id };
    const { pinned, tags = [] } = (await api.call('ImageStatus', { image })).image ?? {};
    // An image is removed with all its names, some of which may belong to others.
    if (pinned || tags.length > 1) return false;
    await api.call('RemoveImage', { image });
    return true;
  },
  isUnreachable,
});
