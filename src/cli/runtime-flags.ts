/** The options of runtimes, and of `wherry cleanup`: names, help, and how values are read. */
import type { CleanupOptions } from '../cluster/node/cleanup.ts';
import type { NodeOptions } from '../cluster/node/node.ts';

const nodes = { for: ['up', 'node'] } as const;

/** For `parseArgs`. */
export const runtimeArgs = {
  runtime: { type: 'string', ...nodes },
  'docker-socket': { type: 'string', for: ['up', 'node', 'cleanup'] },
  'cri-socket': { type: 'string', for: ['up', 'node', 'cleanup'] },
  all: { type: 'boolean', for: ['cleanup'] },
} as const;

export const runtimeHelp = `  --runtime KIND        what runs pods that name no runtime class: process, docker, cri, simulated; auto: containers
                        for images that are not mapped to commands if a container engine answers, else processes
                        (default auto)
  --docker-socket FILE  socket of Docker or Podman; off: use neither (default: where they have theirs)
  --cri-socket FILE     socket of containerd, CRI-O or another engine that speaks CRI; off: use none (default: where
                        they have theirs)
`;

export const cleanupHelp = `  --data-dir FOLDER     the folder of the cluster or node whose containers are removed (default .wherry)
  --all                 remove the containers of all clusters and nodes of Wherry on this machine
  --docker-socket FILE  socket of Docker or Podman; off: leave it alone (default: where they have theirs)
  --cri-socket FILE     socket of an engine that speaks CRI; off: leave it alone (default: where they have theirs)
`;

const kinds = ['auto', 'process', 'docker', 'cri', 'simulated'] as const;

export interface RuntimeValues {
  readonly runtime?: string | undefined;
  readonly 'docker-socket'?: string | undefined;
  readonly 'cri-socket'?: string | undefined;
  readonly 'data-dir'?: string | undefined;
  readonly all?: boolean | undefined;
}

/** @param refuse throws */
export function readRuntime(
  { runtime, 'docker-socket': dockerSocket, 'cri-socket': criSocket }: RuntimeValues,
  refuse: (message: string) => never,
): Pick<NodeOptions, 'runtime' | 'dockerSocket' | 'criSocket'> {
  if (dockerSocket === '') refuse('--docker-socket must name a file, or be off');
  if (criSocket === '') refuse('--cri-socket must name a file, or be off');
  const kind = kinds.find((one) => one === runtime);
  if (runtime !== undefined && !kind)
    refuse(`--runtime must be ${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}, not ${runtime}`);
  return {
    ...(kind === undefined ? {} : { runtime: kind }),
    ...(dockerSocket === undefined ? {} : { dockerSocket }),
    ...(criSocket === undefined ? {} : { criSocket }),
  };
}

export interface CleanupLine extends CleanupOptions {
  readonly command: 'cleanup';
}

export const readCleanupLine = ({
  'data-dir': dataDir = '.wherry',
  'docker-socket': dockerSocket,
  'cri-socket': criSocket,
  all = false,
}: RuntimeValues): CleanupLine => ({ command: 'cleanup', dataDir, dockerSocket, criSocket, all });
