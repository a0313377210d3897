/** Removes the containers that a cluster or node has left in a container engine, for one that will not be started again. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from './starterror.ts';

export interface CleanupOptions {
  /** The folder of the cluster or node. */
  readonly dataDir: string;
  /** Default: where Docker and Podman have theirs. */
  readonly dockerSocket: string | undefined;
  /** Remove the containers of all clusters and nodes. */
  readonly all: boolean;
}

/** Text for the user. Throws a `StartError`. */
export async function cleanUp({ dataDir, dockerSocket, all }: CleanupOptions): Promise<string> {
  const [{ dockerCalls, openDocker }, { removeLeftovers }] = await Promise.all([
    import('../node/runtime/docker/dockercalls.ts'),
    import('../node/runtime/engine/engineleftovers.ts'),
  ]);
  const folder = path.resolve(dataDir, 'node', 'docker');
  const node = await readFile(path.join(folder, 'agent-id'), 'utf8').catch(() => '');
  if (!all && !node) return `${dataDir} has no containers\n`;
  const api = await openDocker(dockerSocket);
  if (!api) throw new StartError('no container engine answers; name its socket by --docker-socket');
  try {
    const count = await removeLeftovers(dockerCalls(api), all ? undefined : node, folder);
    return `Removed ${count} ${count === 1 ? 'container' : 'containers'}\n`;
  } finally {
    api.close();
  }
}
