/** Workload statuses: rules for the numbers of pods that controllers report. */
import { invalid } from '../../errors/field-error.ts';
import { type Findings, negative } from '../shared/findings.ts';

export function* negativeCounts<T extends object>(status: T, names: readonly (keyof T & string)[]): Findings {
  for (const name of names) yield* negative(`status.${name}`, status[name] as number | undefined);
}

/** Each counts a subset of the pods, and cannot exceed their total. */
export function* partErrors<T extends { replicas?: number }>(
  status: T,
  parts: readonly (keyof T & string)[],
): Findings {
  for (const name of parts) {
    const count = (status[name] as number | undefined) ?? 0;
    if (count > (status.replicas ?? 0))
      yield invalid(`status.${name}`, count, 'cannot be greater than status.replicas');
  }
}

/** Available pods are a subset of the ready ones. `ready` is the name of that field. */
export function* availableErrors(
  { readyReplicas = 0, availableReplicas = 0 }: { readyReplicas?: number; availableReplicas?: number },
  ready = 'readyReplicas',
): Findings {
  if (availableReplicas > readyReplicas)
    yield invalid('status.availableReplicas', availableReplicas, `cannot be greater than ${ready}`);
}

/** collisionCount never decreases, so that every new hash differs. */
export function* collisionErrors(
  { collisionCount: count }: { collisionCount?: number },
  { collisionCount: old }: { collisionCount?: number } = {},
): Findings {
  if (old !== undefined && (count === undefined || count < old))
    yield invalid('status.collisionCount', count ?? 0, 'cannot be decremented');
}
