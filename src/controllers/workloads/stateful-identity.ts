/**
 * Stateful identity: what a pod of a stateful set keeps when it is replaced: its name, made of the set's name and an
 * ordinal, its host name, and its claims.
 */
import type { PersistentVolumeClaim, Pod, StatefulSet, Volume } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { podOf } from '../shared/pod-control.ts';
import { type Revision, revisionLabel } from './revision-history.ts';

const podNameLabel = 'statefulset.kubernetes.io/pod-name';
const podIndexLabel = 'apps.kubernetes.io/pod-index';

export const podNameOf = ({ metadata }: StatefulSet, ordinal: number): string =>
  `${metadata.name}-${ordinal}`;

/** The name of the set and the ordinal that a pod name consists of. */
export function placeIn(podName: string): { set: string; ordinal: number } | undefined {
  const [, set, digits] = /^(.*)-(0|[1-9]\d{0,9})$/.exec(podName) ?? [];
  return set === undefined ? undefined : { set, ordinal: Number(digits) };
}

/** The ordinal of a pod of a set; undefined when the name does not fit. */
export function ordinalOf({ metadata }: StatefulSet, { name }: IndexedPod): number | undefined {
  const place = placeIn(name);
  return place?.set === metadata.name ? place?.ordinal : undefined;
}

/** The name of the revision that a pod was created from. */
export const revisionNameOf = ({ labels }: IndexedPod): string => labels?.[revisionLabel] ?? '';

/** Labels by which a single pod can be selected, for example by a service. */
const identityLabels = (name: string, ordinal: number): Record<string, string> => ({
  [podNameLabel]: name,
  [podIndexLabel]: String(ordinal),
});

export const hasIdentity = ({ name, labels }: IndexedPod, ordinal: number): boolean =>
  Object.entries(identityLabels(name, ordinal)).every(([key, value]) => labels?.[key] === value);

/** Restores the identity labels of a pod. */
export function identify({ metadata }: Pod, ordinal: number): void {
  metadata.labels = { ...metadata.labels, ...identityLabels(metadata.name ?? '', ordinal) };
}

/** The pod of an ordinal, made from the template of a revision. */
export function statefulPod(
  kind: Kind,
  set: StatefulSet,
  ordinal: number,
  revision: Pick<Revision, 'name' | 'template'>,
): Pod {
  const pod = podOf(kind, set, revision.template);
  const name = podNameOf(set, ordinal);
  pod.metadata.name = name;
  pod.metadata.labels = {
    ...pod.metadata.labels,
    ...identityLabels(name, ordinal),
    [revisionLabel]: revision.name,
  };
  const spec = (pod.spec ??= {});
  spec.hostname = name;
  spec.subdomain = set.spec?.serviceName;
  const claimed = (set.spec?.volumeClaimTemplates ?? []).map(
    ({ metadata }): Volume => ({
      name: metadata.name,
      persistentVolumeClaim: { claimName: claimNameOf(set, metadata.name ?? '', ordinal) },
    }),
  );
  const others = (spec.volumes ?? []).filter((volume) => !claimed.some(({ name }) => name === volume.name));
  spec.volumes = [...claimed, ...others];
  return pod;
}

export const claimNameOf = (set: StatefulSet, template: string, ordinal: number): string =>
  `${template}-${podNameOf(set, ordinal)}`;

/** A claim of an ordinal, made from a claim template. */
export const claimOf = (
  set: StatefulSet,
  { metadata, spec }: PersistentVolumeClaim,
  ordinal: number,
): PersistentVolumeClaim =>
  structuredClone({
    metadata: {
      name: claimNameOf(set, metadata.name ?? '', ordinal),
      labels: { ...metadata.labels, ...set.spec?.selector?.matchLabels },
      annotations: metadata.annotations,
      finalizers: metadata.finalizers,
    },
    spec,
  });
