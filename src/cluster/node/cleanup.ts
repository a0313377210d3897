/** Removes what a cluster or node left in container engines, when it will not be started again. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Spawner } from '../../node/process/spawner.ts';
import type { EngineCalls } from '../../node/runtime/engine/container-engine.ts';
import { livingOwner } from '../../store/owner.ts';
import { StartError } from '../shared/start-error.ts';

export interface CleanupOptions {
  /** The folder of the cluster or node. */
  readonly dataDir: string;
  /** Default: where Docker and Podman have theirs. */
  readonly dockerSocket: string | undefined;
  /** Default: where containerd and CRI-O have theirs. */
  readonly criSocket: string | undefined;
  /** Remove the containers of all clusters and nodes. */
  readonly all: boolean;
}

interface OpenEngine {
  readonly calls: EngineCalls;
  removeNetwork?(spawner: Spawner): Promise<void>;
  close(): void;
}

async function openDocker(socket: string | undefined): Promise<OpenEngine | undefined> {
  const found = await import('../../node/runtime/docker/docker-calls.ts');
  const api = await found.openDocker(socket);
  return api && { calls: found.dockerCalls(api), close: () => api.close() };
}

async function openCri(socket: string | undefined): Promise<OpenEngine | undefined> {
  const found = await import('../../node/runtime/cri/cri-calls.ts');
  const cni = await import('../../node/runtime/cri/cni-configuration.ts');
  const api = await found.openCri(socket);
  return (
    api && {
      calls: found.criCalls(api),
      removeNetwork: async (spawner) => cni.removeConfiguration(await cni.configurationFolder(api), spawner),
      close: () => api.close(),
    }
  );
}

const engines = [
  { name: 'docker', option: 'dockerSocket', open: openDocker },
  { name: 'cri', option: 'criSocket', open: openCri },
] as const;

/** Removes it; returns text for the user. Throws a `StartError`. */
export async function cleanUp(options: CleanupOptions): Promise<string> {
  const { dataDir, all } = options;
  const user = userOf(path.resolve(dataDir));
  if (user !== undefined && !all)
    throw new StartError(
      `${dataDir} is in use by process ${user}, whose containers these are: stop it first`,
    );
  const { removeLeftovers } = await import('../../node/runtime/engine/engine-leftovers.ts');
  let [asked, answered, count] = [0, 0, 0];
  const spared = new Set<string>();
  for (const { name, option, open } of engines) {
    const socket = options[option];
    if (socket === 'off') continue;
    const folder = path.resolve(dataDir, 'node', name);
    const node = await readFile(path.join(folder, 'agent-id'), 'utf8').catch(() => '');
    if (!all && !node) continue;
    asked++;
    const engine = await open(socket);
    if (!engine) continue;
    answered++;
    try {
      const { calls, removeNetwork } = engine;
      const isInUse = (runtime: string): boolean => livingOwner(path.dirname(runtime)) !== undefined;
      const done = await removeLeftovers(calls, {
        node: all ? undefined : node,
        folder,
        isInUse,
        removeNetwork,
      });
      count += done.removed;
      for (const runtime of done.spared) spared.add(path.dirname(runtime));
    } finally {
      engine.close();
    }
  }
  if (!asked) return `${dataDir} has no containers\n`;
  // With --all, one answering engine is enough: few machines have both.
  if (answered < (all ? 1 : asked))
    throw new StartError('no container engine answers; name its socket by --docker-socket or --cri-socket');
  const left = [...spared].map((one) => `Left alone the containers of the node in ${one}, which runs\n`);
  return `Removed ${count} ${count === 1 ? 'container' : 'containers'}\n${left.join('')}`;
}

/** The process that uses a data folder, for objects or for a node. */
const userOf = (folder: string): number | undefined =>
  (livingOwner(folder) ?? livingOwner(path.join(folder, 'node')))?.pid;
