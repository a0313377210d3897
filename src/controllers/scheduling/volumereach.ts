/** Volumes of a pod, for the scheduler: claims must exist and be bound, and their volumes usable on the node. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import { matchesNodeSelector } from './nodeaffinity.ts';
import type { NodeFacts } from './nodefacts.ts';
import type { PodFacts } from './podfacts.ts';

/** A reason why the pod is unschedulable, or a check for each node. */
export type VolumeReach =
  | { readonly nowhere: string }
  | { readonly nowhere?: undefined; readonly failure: (node: NodeFacts) => string | undefined };

const anywhere: VolumeReach = { failure: () => undefined };

export function volumeReach({ view }: Registry, pod: PodFacts): VolumeReach {
  if (pod.claims.length === 0) return anywhere;
  const volumes: PersistentVolume[] = [];
  for (const name of pod.claims) {
    const entry = view.collection('core/persistentvolumeclaims').get(pod.namespace, name);
    if (!entry) return { nowhere: `persistentvolumeclaim ${JSON.stringify(name)} not found` };
    const claim = entry.object() as PersistentVolumeClaim;
    if (claim.metadata.deletionTimestamp)
      return { nowhere: `persistentvolumeclaim ${JSON.stringify(name)} is being deleted` };
    const volume =
      claim.status?.phase === 'Bound' && claim.spec?.volumeName
        ? view.collection('core/persistentvolumes').get('', claim.spec.volumeName)
        : undefined;
    if (!volume) return { nowhere: 'pod has unbound immediate PersistentVolumeClaims' };
    volumes.push(volume.object() as PersistentVolume);
  }
  const places = volumes.flatMap(({ spec }) => spec?.nodeAffinity?.required ?? []);
  if (places.length === 0) return anywhere;
  return {
    failure: (node) =>
      places.every((place) => matchesNodeSelector(place, node))
        ? undefined
        : "node(s) didn't match PersistentVolume's node affinity",
  };
}
