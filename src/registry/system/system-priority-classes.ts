/** System priority classes: created at start. They cannot be deleted, so one check is enough. */
import { systemClasses } from '../../api/kinds/scheduling/priority-class.ts';
import type { Registry } from '../registry.ts';
import { collectionOf } from '../target.ts';
import { actingAs } from '../writers.ts';

export async function ensureSystemPriorityClasses(registry: Registry): Promise<void> {
  const kind = registry.kinds.resource('scheduling.k8s.io/v1', 'priorityclasses')!;
  const missing = systemClasses.filter(
    ({ metadata }) => !registry.view.collection(kind).get('', metadata.name!),
  );
  // Another server on the same store has created it meanwhile.
  await Promise.all(
    missing.map(({ metadata, ...rest }) =>
      registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), {
        ...rest,
        metadata: { ...metadata, generation: 1 },
      }),
    ),
  );
}
