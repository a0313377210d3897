/** What a pod asks for of a resource, as the scheduler counts it. */
import type { ApiObject, Json } from '../../core/objects.ts';
import { quantity } from '../../core/quantity.ts';

/**
 * Containers and sidecars run together, so theirs add up; other init containers run before them one at a time, beside the
 * sidecars that have begun, so the largest counts. A request of the pod itself stands for all of them.
 */
export function requestOf({ spec }: ApiObject, what: string): number {
  const of = ({ resources }: Json): number => quantity(resources?.requests?.[what]) || 0;
  let sidecars = 0;
  let initial = 0;
  for (const container of spec?.initContainers ?? [])
    if (container.restartPolicy === 'Always') sidecars += of(container);
    else initial = Math.max(initial, sidecars + of(container));
  const together = (spec?.containers ?? []).reduce(
    (sum: number, container: Json) => sum + of(container),
    sidecars,
  );
  return (of(spec ?? {}) || Math.max(together, initial)) + (quantity(spec?.overhead?.[what]) || 0);
}
