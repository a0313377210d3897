/** Actions on workloads: scale, restart, roll back, and running a cron job now. */
import { ApiError, ask } from '../../core/api.ts';
import { apiVersionOf, kindOf, pathOf } from '../../core/kinds.ts';
import type { ApiObject, ListAnswer } from '../../core/objects.ts';
import { commandText } from '../../ui/command.ts';
import type { Action, Plan, Target } from './actions.ts';
import { keeperOf, type Revision, revisionsFrom } from './revisions.ts';
import { mergePatch, restartPatch, rolling } from './workload-patches.ts';

export const pathOfTarget = ({ kind, object: { metadata } }: Target, subresource?: string): string =>
  pathOf(kind, metadata.namespace, metadata.name, subresource);

const nameOf = ({ kind, object }: Target): string => `${kind.id}/${object.metadata.name}`;

export const scale: Action = {
  id: 'scale',
  title: 'Scale',
  applies: ({ kind }) => kind.subresources.has('scale'),
  needs: [
    { verb: 'get', subresource: 'scale' },
    { verb: 'patch', subresource: 'scale' },
  ],
  plan: async (target) => {
    const now = await ask<ApiObject>(pathOfTarget(target, 'scale'));
    const current = String(now.spec?.replicas ?? 0);
    return {
      fields: [{ name: 'replicas', label: 'Replicas', type: 'number', initial: current }],
      steps: ({ replicas }) => [`Change the number of replicas from ${current} to ${replicas || '?'}.`],
      commands: ({ replicas }) => [
        commandText(
          ['kubectl', 'scale', nameOf(target), `--replicas=${replicas}`],
          target.object.metadata.namespace,
        ),
      ],
      run: async ({ replicas }) => {
        const body = { spec: { replicas: Number(replicas) } };
        await ask(pathOfTarget(target, 'scale'), { method: 'PATCH', contentType: mergePatch, body });
      },
    };
  },
};

export const restart: Action = {
  id: 'restart',
  title: 'Restart',
  applies: ({ kind }) => rolling.has(kind.id),
  plan: async (target) => ({
    fields: [],
    steps: () => [
      'Set the annotation kubectl.kubernetes.io/restartedAt of the pod template to the time of now.',
      'The pods are replaced by new ones, as the update strategy says.',
    ],
    commands: () => [
      commandText(['kubectl', 'rollout', 'restart', nameOf(target)], target.object.metadata.namespace),
    ],
    run: async () => {
      await ask(pathOfTarget(target), { method: 'PATCH', contentType: mergePatch, body: restartPatch() });
    },
  }),
};

/** What going back takes; `wished` is the number of the revision to begin with. */
export async function rollBackTo(target: Target, wished?: number): Promise<Plan> {
  const keeper = kindOf(keeperOf(target.kind.id)!)!;
  const { items } = await ask<ListAnswer<ApiObject>>(pathOf(keeper, target.object.metadata.namespace));
  // The newest is what runs now.
  const former = revisionsFrom(items, target.object).slice(1);
  if (former.length === 0) throw new ApiError({ message: 'There is no former revision to go back to.' });
  const label = ({ number, images }: Revision): string => `revision ${number}: ${images}`;
  const chosen = (value: string | undefined): Revision =>
    former.find(({ number }) => String(number) === value) ?? former[0]!;
  return {
    fields: [
      {
        name: 'revision',
        label: 'Revision',
        type: 'choice',
        initial: String(wished ?? former[0]!.number),
        choices: former.map((each) => ({ value: String(each.number), label: label(each) })),
      },
    ],
    steps: ({ revision }) => [
      `Set the pod template to that of revision ${chosen(revision).number}, with ${label(chosen(revision))}.`,
      'The pods are replaced by new ones, as the update strategy says.',
    ],
    commands: ({ revision }) => [
      commandText(
        ['kubectl', 'rollout', 'undo', nameOf(target), `--to-revision=${chosen(revision).number}`],
        target.object.metadata.namespace,
      ),
    ],
    run: async ({ revision }) => {
      const { patch: body, contentType } = chosen(revision);
      await ask(pathOfTarget(target), { method: 'PATCH', contentType, body });
    },
  };
}

export const rollBack: Action = {
  id: 'rollback',
  title: 'Roll back',
  applies: ({ kind }) => rolling.has(kind.id),
  plan: (target) => rollBackTo(target),
};

export const trigger: Action = {
  id: 'trigger',
  title: 'Run now',
  applies: ({ kind }) => kind.id === 'cronjobs.batch',
  needs: [{ verb: 'create', kind: 'jobs.batch' }],
  plan: async ({ kind, object }): Promise<Plan> => {
    const { name, namespace, uid } = object.metadata;
    const jobs = kindOf('jobs.batch')!;
    const suffix = Math.random().toString(36).slice(2, 7);
    return {
      fields: [
        { name: 'name', label: 'Name of the job', type: 'text', initial: `${name.slice(0, 50)}-${suffix}` },
      ],
      steps: ({ name: job }) => [
        `Create the job ${job} from the template of this cron job. Its schedule stays as it is.`,
      ],
      commands: ({ name: job }) => [
        commandText(['kubectl', 'create', 'job', job!, `--from=cronjob/${name}`], namespace),
      ],
      run: async ({ name: job }) => {
        const { metadata = {}, spec } = object.spec?.jobTemplate ?? {};
        const body = {
          apiVersion: apiVersionOf(jobs),
          kind: 'Job',
          metadata: {
            name: job,
            namespace,
            labels: metadata.labels,
            annotations: { ...metadata.annotations, 'cronjob.kubernetes.io/instantiate': 'manual' },
            ownerReferences: [
              { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid, controller: true },
            ],
          },
          spec,
        };
        await ask(pathOf(jobs, namespace), { method: 'POST', body });
      },
    };
  },
};
