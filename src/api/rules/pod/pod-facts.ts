/** Facts about pods that several parts of the cluster need. */
import type { Pod, Volume } from '../../generated/types.ts';

/** Whether a pod of this phase has ended: Succeeded or Failed. */
export const isFinished = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** The volumes of a pod that get a claim of their own, which lives as long as the pod. */
export const ephemeralVolumesOf = ({ spec }: Pod): Volume[] =>
  (spec?.volumes ?? []).filter(({ ephemeral }) => ephemeral);

/** The name of the claim of an ephemeral volume. */
export const ephemeralClaimOf = ({ metadata }: Pod, { name }: Volume): string => `${metadata.name}-${name}`;

/** Names of the claims a pod uses. */
export const claimsOf = (pod: Pod): string[] =>
  (pod.spec?.volumes ?? []).flatMap((volume) => {
    const { persistentVolumeClaim, ephemeral } = volume;
    if (persistentVolumeClaim?.claimName) return [persistentVolumeClaim.claimName];
    return ephemeral ? [ephemeralClaimOf(pod, volume)] : [];
  });
