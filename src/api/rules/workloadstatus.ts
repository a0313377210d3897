/** Workload statuses: rules for the numbers in which controllers report what has become of a workload. */
import { invalid } from '../fielderror.ts';
import { type Findings, negative } from './findings.ts';

export function* negativeCounts<T extends object>(status: T, names: readonly (keyof T & string)[]): Findings {
  for (const name of names) yield* negative(`status.${name}`, status[name] as number | undefined);
}

/** Each of these counts some of the pods, and cannot be more than all of them. */
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

/** A pod is available when it has been ready for a while. `ready` is how Kubernetes calls that number here. */
export function* availableErrors(
  { readyReplicas = 0, availableReplicas = 0 }: { readyReplicas?: number; availableReplicas?: number },
  ready = 'readyReplicas',
): Findings {
  if (availableReplicas > readyReplicas)
    yield invalid('status.availableReplicas', availableReplicas, `cannot be greater than ${ready}`);
}

/** Made-up names that were taken are counted, so that the next one is another. */
export function* collisionErrors(
  { collisionCount: count }: { collisionCount?: number },
  { collisionCount: old }: { collisionCount?: number } = {},
): Findings {
  if (old !== undefined && (count === undefined || count < old))
    yield invalid('status.collisionCount', count ?? 0, 'cannot be decremented');
}
