/** System priority classes: those a cluster has from the start. Nobody can delete them, so making them once will do. */
import { systemClasses } from '../api/kinds/priorityclass.ts';
import type { Registry } from './registry.ts';
import { collectionOf } from './target.ts';
import { actingAs } from './writers.ts';

/** Creates what is missing. */
export async function ensureSystemPriorityClasses(registry: Registry): Promise<void> {
  const kind = registry.kinds.resource('scheduling.k8s.io/v1', 'priorityclasses')!;
  const missing = systemClasses.filter(
    ({ metadata }) => !registry.view.collection(kind).get('', metadata.name!),
  );
  // One that another server on the same store has made meanwhile is as good.
  await Promise.all(
    missing.map(({ metadata, ...rest }) =>
      registry.plant(actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), {
        ...rest,
        metadata: { ...metadata, generation: 1 },
      }),
    ),
  );
}
