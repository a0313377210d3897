/** The defaults of "Run a pod", chosen so that it can run on the existing nodes. */
import type { ApiObject } from '../../core/objects.ts';

export interface RunProposal {
  readonly image: string;
  readonly command: string;
  /** Whether a command is needed: without an engine that pulls the image there is nothing else to run. */
  readonly needsCommand: boolean;
  /** What a person should know beforehand. */
  readonly note?: string;
}

/** Labels of nodes that run containers beside processes. */
const engineLabels = ['wherry.dev/runtime-docker', 'wherry.dev/runtime-cri'];

const runsProcessesOnly = ({ metadata, status }: ApiObject): boolean =>
  String(status?.nodeInfo?.containerRuntimeVersion).startsWith('process://') &&
  !engineLabels.some((label) => metadata.labels?.[label] === 'true');

/** `nodes` is undefined for users who may not see them. The command keeps the pod running, whatever runs it. */
export function runProposal(nodes: readonly ApiObject[] | undefined): RunProposal {
  const command = 'sleep 3600';
  if (!nodes?.length || !nodes.every(runsProcessesOnly))
    return { image: 'busybox', command, needsCommand: false };
  return {
    image: 'host',
    command,
    needsCommand: true,
    note: 'No node has a container engine: the command runs as a process of the machine.',
  };
}
