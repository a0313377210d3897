/** Runs a pod, as `kubectl run` does. */
import { ask } from '../../core/api.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { commandText } from '../../ui/command.ts';
import type { Plan } from './actions.ts';

export const runPod = async (namespace: string): Promise<Plan> => ({
  fields: [
    { name: 'name', label: 'Name', type: 'text', initial: `run-${Math.random().toString(36).slice(2, 7)}` },
    { name: 'image', label: 'Image', type: 'text', initial: 'busybox' },
    { name: 'command', label: 'Command', type: 'text', initial: '', optional: true },
  ],
  steps: ({ name, image }) => [
    `Create the pod ${name} with the image ${image} in the namespace ${namespace}.`,
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
