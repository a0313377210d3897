/** Facts about pods that several parts of the cluster need. */
import type { Pod } from '../generated/types.ts';

/** Whether a pod of this phase has ended: Succeeded or Failed. */
export const isFinished = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** Names of the claims a pod uses. The claim of an ephemeral volume is named after the pod and the volume. */
export const claimsOf = ({ metadata, spec }: Pod): string[] =>
  (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${metadata.name}-${name}`] : [];
  });
