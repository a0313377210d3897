/** Runs a pod, as `kubectl run` does. */
import { ask } from '../../core/api.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import type { ApiObject, ListAnswer } from '../../core/objects.ts';
import { may } from '../../core/rights.ts';
import { commandText } from '../../ui/command.ts';
import type { Plan } from './actions.ts';
import { type RunProposal, runProposal } from './run-proposal.ts';

const nodesMax = 500;

const proposed = async (): Promise<RunProposal> => {
  const nodes = kindOf('nodes');
  if (!nodes || !may('list', nodes)) return runProposal(undefined);
  const { items } = await ask<ListAnswer<ApiObject>>(pathOf(nodes), { query: { limit: nodesMax } });
  return runProposal(items);
};

export const runPod = async (namespace: string): Promise<Plan> => planOf(namespace, await proposed());

const planOf = (namespace: string, proposal: RunProposal): Plan => ({
  fields: [
    { name: 'name', label: 'Name', type: 'text', initial: `run-${Math.random().toString(36).slice(2, 7)}` },
    { name: 'image', label: 'Image', type: 'text', initial: proposal.image },
    {
      name: 'command',
      label: 'Command',
      type: 'text',
      initial: proposal.command,
      optional: !proposal.needsCommand,
    },
  ],
  steps: ({ name, image }) => [
    `Create the pod ${name} with the image ${image} in the namespace ${namespace}.`,
    ...(proposal.note ? [proposal.note] : []),
  ],
  commands: ({ name, image, command }) => [
    commandText([
      ...['kubectl', 'run', name!, `--image=${image}`, '--restart=Never', '--namespace', namespace],
      ...(command?.trim() ? ['--command', '--', ...command.trim().split(/\s+/)] : []),
    ]),
  ],
  run: async ({ name, image, command }) => {
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: { run: name } },
      spec: {
        restartPolicy: 'Never',
        containers: [{ name, image, command: command?.trim() ? command.trim().split(/\s+/) : undefined }],
      },
    };
    await ask(pathOf(kindOf('pods')!, namespace), { method: 'POST', body });
  },
});
