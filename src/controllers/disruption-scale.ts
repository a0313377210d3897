/**
 * The expected number of pods of a disruption budget, and how many must stay healthy. A percentage is one of the
 * replicas that the pods' controllers want, not of the existing pods.
 */

import { resourceText } from '../api/errors/errors.ts';
import type { OwnerReference, PodDisruptionBudgetSpec } from '../api/generated/types.ts';
import type { Kind } from '../api/kind/kind.ts';
import type { Registry } from '../registry/registry.ts';
import type { Entry } from '../registry/view/entry.ts';
import { controllerOf, type IndexedPod } from './shared/indexed-pod.ts';
import { resolved } from './workloads/rolling-plan.ts';

export type Expectation =
  | {
      readonly expectedPods: number;
      readonly desiredHealthy: number;
      /** Number of pods without a controller, when the replicas of controllers are needed. */
      readonly unmanaged: number;
    }
  | { readonly failure: string };

/** Why the expected number is not known. */
class ScaleError extends Error {}

export function expectationOf(
  registry: Registry,
  { minAvailable, maxUnavailable }: PodDisruptionBudgetSpec,
  pods: readonly IndexedPod[],
): Expectation {
  try {
    if (maxUnavailable !== undefined) {
      const { expectedPods, unmanaged } = scaleOf(registry, pods);
      const desiredHealthy = Math.max(0, expectedPods - resolved(maxUnavailable, expectedPods, Math.ceil));
      return { expectedPods, unmanaged, desiredHealthy };
    }
    if (typeof minAvailable !== 'string')
      return {
        expectedPods: minAvailable === undefined ? 0 : pods.length,
        desiredHealthy: minAvailable ?? 0,
        unmanaged: 0,
      };
    const { expectedPods, unmanaged } = scaleOf(registry, pods);
    return { expectedPods, unmanaged, desiredHealthy: resolved(minAvailable, expectedPods, Math.ceil) };
  } catch (error) {
    if (error instanceof ScaleError) return { failure: error.message };
    throw error;
  }
}

/** The replicas that all controllers of the pods want together. */
function scaleOf(
  registry: Registry,
  pods: readonly IndexedPod[],
): { expectedPods: number; unmanaged: number } {
  /** By uid of the pods' direct owner. */
  const asked = new Map<string, Entry>();
  /** By uid of the scalable owner: a deployment may have several replica sets. */
  const scales = new Map<string, number>();
  let unmanaged = 0;
  for (const { namespace, name, controller } of pods) {
    if (!controller) {
      unmanaged += 1;
      continue;
    }
    const uid = controller.uid ?? '';
    if (asked.has(uid)) continue;
    const scaled = scaledBy(registry, namespace, controller);
    if (!scaled) throw new ScaleError(`found no controllers for pod ${JSON.stringify(name)}`);
    asked.set(uid, scaled);
    const { metadata, spec } = scaled.peek();
    scales.set(metadata.uid ?? '', (spec as { replicas?: number } | undefined)?.replicas ?? 1);
  }
  return { expectedPods: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
}

/** The object whose replicas count for a pod's controller: itself, or its deployment. */
function scaledBy(registry: Registry, namespace: string, reference: OwnerReference): Entry | undefined {
  const entry = referred(registry, namespace, reference);
  const above = entry && controllerOf(entry.peek().metadata.ownerReferences);
  if (entry && above && reference.kind === 'ReplicaSet' && above.kind === 'Deployment')
    return referred(registry, namespace, above);
  return entry;
}

function referred(
  registry: Registry,
  namespace: string,
  { apiVersion = '', kind: kindName = '', name = '', uid }: OwnerReference,
): Entry | undefined {
  const kind = registry.kinds.kind(apiVersion, kindName);
  if (!kind)
    throw new ScaleError(`no matches for kind ${JSON.stringify(kindName)} in version "${apiVersion}"`);
  if (!canScale(kind)) throw new ScaleError(`${resourceText(kind)} does not implement the scale subresource`);
  const entry = registry.view.collection(kind).get(namespace, name);
  return entry?.peek().metadata.uid === uid ? entry : undefined;
}

const canScale = (kind: Kind): boolean =>
  kind.namespaced && kind.subresources.some((part) => part.name === 'scale');
