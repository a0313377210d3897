/** The calls that all engines have in common, for Docker and Podman; and how an engine is found. */
import type { EngineCalls, FoundContainer } from '../engine/container-engine.ts';
import { labels } from '../engine/pod-identity.ts';
import { DockerApi, DockerError, isDone, isUnreachable } from './docker-api.ts';
import { dockerSockets, existing } from './docker-sockets.ts';
import type { DockerInfo, ListedContainer } from './docker-types.ts';

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
 * Ignores 404 (it is gone) and 409 (a container uses it, or its removal is under way). Podman keeps a sandbox as long
 * as it has containers; it is removed after them.
 */
function ignoreGone(error: unknown): void {
  if (isDone(error)) return;
  if (error instanceof DockerError && (error.status === 409 || /dependent containers/.test(error.message)))
    return;
  throw error;
}

export const dockerCalls = (api: DockerApi): EngineCalls => ({
  list: async (wanted) => {
    const label = Object.entries(wanted).map(([name, value]) => `${name}=${value}`);
    const filters = label.length ? JSON.stringify({ label }) : undefined;
    const found = await api.json<ListedContainer[]>('GET', '/containers/json', {
      query: { all: true, filters },
    });
    return found.map(
      ({ Id, Labels, State, ImageID = '' }): FoundContainer => ({
        id: Id,
        labels: Labels ?? {},
        state: State === 'running' || State === 'paused' ? 'running' : State === 'created' ? State : 'ended',
        imageId: ImageID,
        sandbox: Labels?.[labels.sandbox] ?? '',
      }),
    );
  },
  delete: (id) =>
    api.json<void>('DELETE', `/containers/${id}`, { query: { force: true, v: true } }).catch(ignoreGone),
  imageFolder: async () => (await api.json<DockerInfo>('GET', '/info')).DockerRootDir ?? '',
  removeImage: (id) =>
    api.json('DELETE', `/images/${id}`).then(
      () => true,
      (error: unknown) => {
        ignoreGone(error);
        return isDone(error);
      },
    ),
  isUnreachable,
});
