/** What all engines are asked alike, for those that speak CRI; and how one of them is found. */

import { existing } from '../docker/docker-sockets.ts';
import type { EngineCalls, FoundContainer } from '../engine/container-engine.ts';
import { CriApi, isGone, isUnreachable } from './cri-api.ts';
import { criSockets } from './cri-sockets.ts';

/** How long an engine may take for its first answer. */
const firstAnswerMs = 5_000;

const states = ['created', 'running', 'ended'] as const;
export const runningState = states.indexOf('running');
/** The state of a sandbox that is ready. */
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
          // Unknown: it is not running as far as the engine can tell.
          state: states[state] ?? 'ended',
          // New engines name the image apart; the reference of others is its id.
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
    // An image is removed with all its names, and some of them may be those of others.
    if (pinned || tags.length > 1) return false;
    await api.call('RemoveImage', { image });
    return true;
  },
  isUnreachable,
});
