/** The resource quota controller: copies `spec.hard` to the status and keeps `status.used` correct. */
import { type Controller, running } from './shared/controller.ts';
import { observeKinds } from './shared/kind-observation.ts';
import { WorkQueue } from './shared/work-queue.ts';

/** Debounce: a recount reads a whole namespace, so changes in quick succession share one. */
const gatherMs = 20;
/** Interval of a full recount. */
const recountMs = 5 * 60_000;

export const resourceQuotaController: Controller = {
  name: 'resourcequota',
  writer: 'resourcequota-controller',
  start(context) {
    const { registry, quotas, onError } = context;
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (namespace) => quotas.recount(namespace),
      onError: (_, error) => onError(error),
    });
    const hasQuota = (namespace: string): boolean => quotaCount.has(namespace);
    const quotaCount = new Map<string, number>();
    const recountAll = (): void => {
      for (const namespace of quotaCount.keys()) queue.addAfter(namespace, gatherMs);
    };
    const observation = observeKinds(context, {
      wants: (kind) => kind.namespaced,
      observed: (kind, entry, previous) => {
        const { namespace } = (entry ?? previous)!;
        if (kind.id === 'core/resourcequotas') {
          const count = (quotaCount.get(namespace) ?? 0) + (entry ? 1 : 0) - (previous ? 1 : 0);
          if (count > 0) quotaCount.set(namespace, count);
          else quotaCount.delete(namespace);
          queue.add(namespace);
        } else if (previous && hasQuota(namespace)) {
          // Creates are counted by admission; updates and deletions are not.
          queue.addAfter(namespace, gatherMs);
        }
      },
      // Objects may exist that were not counted, or counted ones may be gone.
      came: (kind) => {
        if (kind.namespaced && registry.view.collection(kind).size > 0) recountAll();
      },
      went: (_, entries) => {
        if (entries.length > 0) recountAll();
      },
    });
    const { onDoubt } = quotas;
    quotas.onDoubt = (namespace) => queue.addAfter(namespace, gatherMs);
    const timer = registry.timers.repeat(recountAll, recountMs);
    timer.unref();
    const whole = running([observation], [queue]);
    return {
      get settled() {
        return whole.settled;
      },
      close: async () => {
        registry.timers.clear(timer);
        quotas.onDoubt = onDoubt;
        await whole.close();
      },
    };
  },
};
