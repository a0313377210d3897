/** Actions on nodes and on pods in their way: cordon, drain, evict. */
import { ApiError, ask } from '../../core/api.ts';
import { pause } from '../../core/connection.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import type { ApiObject, ListAnswer } from '../../core/objects.ts';
import { commandText } from '../../ui/command.ts';
import type { Action, Target } from './actions.ts';
import { pathOfTarget } from './workload-actions.ts';

const isNode = ({ kind }: Target): boolean => kind.id === 'nodes';
const againMs = 5_000;
const namedMax = 10;

const setUnschedulable = (target: Target, unschedulable: boolean): Promise<unknown> =>
  ask(pathOfTarget(target), {
    method: 'PATCH',
    contentType: 'application/merge-patch+json',
    body: { spec: { unschedulable: unschedulable || null } },
  });

const cordoning = (on: boolean): Action => ({
  id: on ? 'cordon' : 'uncordon',
  title: on ? 'Cordon' : 'Uncordon',
  applies: (target) => isNode(target) && Boolean(target.object.spec?.unschedulable) !== on,
  plan: async (target) => ({
    fields: [],
    steps: () => [
      on
        ? 'No new pods are scheduled to this node. Those that run there go on running.'
        : 'New pods may be scheduled to this node again.',
    ],
    commands: () => [commandText(['kubectl', on ? 'cordon' : 'uncordon', target.object.metadata.name])],
    run: async () => {
      await setUnschedulable(target, on);
    },
  }),
});

export const cordon = cordoning(true);
export const uncordon = cordoning(false);

/** Asks for an eviction. A budget may refuse it for now: it is then asked for again, until the signal. */
async function evictPod(
  { metadata }: ApiObject,
  tell: (progress: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = metadata;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  while (!signal.aborted) {
    try {
      await ask(pathOf(kindOf('pods')!, namespace, name, 'eviction'), { method: 'POST', body, signal });
      return;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 404) return;
      if (error.code !== 429) throw error;
      tell(`${name}: ${error.message} Asking again…`);
      await pause(againMs);
    }
  }
}

/** Pods that a drain leaves where they are: those of daemon sets come back at once, mirrors are not the server's. */
const stays = ({ metadata, status }: ApiObject): boolean =>
  metadata.ownerReferences?.some(({ kind, controller }) => controller && kind === 'DaemonSet') ||
  metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined ||
  ['Succeeded', 'Failed'].includes(status?.phase);

export const drain: Action = {
  id: 'drain',
  title: 'Drain',
  applies: isNode,
  needs: [
    { verb: 'patch' },
    { verb: 'list', kind: 'pods' },
    { verb: 'create', kind: 'pods', subresource: 'eviction' },
  ],
  plan: async (target) => {
    const { name } = target.object.metadata;
    const { items } = await ask<ListAnswer<ApiObject>>(pathOf(kindOf('pods')!), {
      query: { fieldSelector: `spec.nodeName=${name}` },
    });
    const leaving = items.filter((pod) => !stays(pod));
    const names = leaving.slice(0, namedMax).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    const more = leaving.length > namedMax ? ` and ${leaving.length - namedMax} more` : '';
    const staying = items.length - leaving.length;
    return {
      fields: [],
      steps: () => [
        'Cordon the node: no new pods are scheduled to it.',
        leaving.length
          ? `Evict ${leaving.length} pods: ${names.join(', ')}${more}.`
          : 'No pods have to leave.',
        staying
          ? `Leave ${staying} pods: those of daemon sets, and those that are done.`
          : 'Pods of daemon sets, and those that are done, would stay; there are none.',
        'Data in emptyDir volumes of evicted pods is lost. Disruption budgets are respected.',
      ],
      commands: () => [
        commandText(['kubectl', 'drain', name, '--ignore-daemonsets', '--delete-emptydir-data', '--force']),
      ],
      run: async (_, tell, signal) => {
        await setUnschedulable(target, true);
        for (const [i, pod] of leaving.entries()) {
          tell(`Evicting ${i + 1} of ${leaving.length}: ${pod.metadata.name}`);
          await evictPod(pod, tell, signal);
        }
      },
    };
  },
};

export const evict: Action = {
  id: 'evict',
  title: 'Evict',
  applies: ({ kind }) => kind.id === 'pods' && kind.subresources.has('eviction'),
  needs: [{ verb: 'create', subresource: 'eviction' }],
  plan: async ({ object }) => {
    const { namespace, name } = object.metadata;
    const path = pathOf(kindOf('pods')!, namespace, name, 'eviction');
    return {
      fields: [],
      steps: () => [
        'Delete the pod with its grace period, unless a disruption budget forbids it.',
        'If a controller owns it, a new one is made, perhaps on another node.',
      ],
      commands: () => [
        `echo '${JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } })}' | ${commandText(['kubectl', 'create', '--raw', path, '-f', '-'])}`,
      ],
      run: (_, tell, signal) => evictPod(object, tell, signal),
    };
  },
};
