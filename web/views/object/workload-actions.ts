/** Actions on workloads: scale, restart, roll back, and running a cron job now. */
import { ApiError, ask } from '../../core/api.ts';
import { apiVersionOf, kindOf, pathOf } from '../../core/kinds.ts';
import type { ApiObject, Json, ListAnswer } from '../../core/objects.ts';
import { commandText } from '../../ui/command.ts';
import type { Action, Plan, Target } from './actions.ts';

const mergePatch = 'application/merge-patch+json';
const strategicPatch = 'application/strategic-merge-patch+json';
const jsonPatch = 'application/json-patch+json';

export const pathOfTarget = ({ kind, object: { metadata } }: Target, subresource?: string): string =>
  pathOf(kind, metadata.namespace, metadata.name, subresource);

const rolling = new Set(['deployments.apps', 'statefulsets.apps', 'daemonsets.apps']);
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
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
      const body = { spec: { template: { metadata: { annotations } } } };
      await ask(pathOfTarget(target), { method: 'PATCH', contentType: mergePatch, body });
    },
  }),
};

interface Revision {
  readonly number: number;
  readonly label: string;
  readonly patch: Json;
  readonly contentType: string;
}

export const rollBack: Action = {
  id: 'rollback',
  title: 'Roll back',
  applies: ({ kind }) => rolling.has(kind.id),
  plan: async (target) => {
    const all = (await revisionsOf(target)).toSorted((a, b) => b.number - a.number);
    // The newest is what runs now.
    const former = all.slice(1);
    if (former.length === 0) throw new ApiError({ message: 'There is no former revision to go back to.' });
    const chosen = (value: string | undefined): Revision =>
      former.find(({ number }) => String(number) === value) ?? former[0]!;
    return {
      fields: [
        {
          name: 'revision',
          label: 'Revision',
          type: 'choice',
          initial: String(former[0]!.number),
          choices: former.map(({ number, label }) => ({ value: String(number), label })),
        },
      ],
      steps: ({ revision }) => [
        `Set the pod template to that of revision ${chosen(revision).number}, with ${chosen(revision).label}.`,
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
  },
};

const imagesOf = (template: Json): string =>
  (template?.spec?.containers ?? []).map(({ image }: Json) => image).join(', ');

/** Deployments keep former templates as replica sets, the others as controller revisions. */
async function revisionsOf({ kind, object }: Target): Promise<Revision[]> {
  const isDeployment = kind.id === 'deployments.apps';
  const keeper = kindOf(isDeployment ? 'replicasets.apps' : 'controllerrevisions.apps')!;
  const { items } = await ask<ListAnswer<ApiObject>>(pathOf(keeper, object.metadata.namespace));
  const owned = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid),
  );
  return owned.map((item) => (isDeployment ? fromReplicaSet(item) : fromControllerRevision(item)));
}

function fromReplicaSet({ metadata, spec }: ApiObject): Revision {
  const number = Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0);
  const template = structuredClone(spec.template);
  delete template.metadata?.labels?.['pod-template-hash'];
  return {
    number,
    label: `revision ${number}: ${imagesOf(template)}`,
    patch: [{ op: 'replace', path: '/spec/template', value: template }],
    contentType: jsonPatch,
  };
}

const fromControllerRevision = ({ revision, data }: ApiObject): Revision => ({
  number: Number(revision),
  label: `revision ${revision}: ${imagesOf(data?.spec?.template)}`,
  patch: data,
  contentType: strategicPatch,
});

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
