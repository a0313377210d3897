/**
 * Eviction: asks for the deletion of a pod, and notes in the pod that it was asked for. No disruption budgets are
 * kept, so none can object.
 */
import { badRequest } from '../api/errors.ts';
import type { Eviction, Pod, PodCondition } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import { checkDeleteOptions, checkDeletePreconditions, type DeleteOptions, remove } from './delete.ts';
import { modify } from './modify.ts';
import type { Registry, WriteOptions } from './registry.ts';

export async function evict(
  registry: Registry,
  pods: Kind,
  namespace: string,
  name: string,
  eviction: Eviction,
  options: WriteOptions,
): Promise<void> {
  if ((eviction.metadata.name ?? '') !== name)
    throw badRequest('name in URL does not match name in Eviction object');
  const asked = (eviction.deleteOptions ?? {}) as DeleteOptions;
  checkDeleteOptions(asked);
  const dryRun = options.dryRun || (asked.dryRun?.length ?? 0) > 0;
  const marked = await modify(
    registry,
    pods,
    namespace,
    name,
    'status',
    { ...options, dryRun },
    (current) => {
      const pod = current.object() as Pod;
      checkDeletePreconditions(pods, name, asked, pod, current);
      noteEviction(pod, registry.now());
      return pod;
    },
  );
  // The version has been checked, and the note has changed it.
  const uid = marked.object().metadata.uid!;
  await remove(registry, pods, namespace, name, {
    ...asked,
    preconditions: { uid },
    ...(dryRun ? { dryRun: ['All'] } : {}),
  });
}

function noteEviction(pod: Pod, now: string): void {
  const status = (pod.status ??= {});
  const conditions = status.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'DisruptionTarget');
  const note: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: before?.status === 'True' ? before.lastTransitionTime : now,
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  status.conditions = [...conditions.filter((condition) => condition !== before), note];
}
