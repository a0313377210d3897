/**
 * Revisions of a deployment, in annotations of its replica sets: the newest template has the highest number. A
 * template that is used again gets a new number, and keeps a list of its former ones.
 */
import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/object.ts';

/** Length of the list of former revisions; the oldest are dropped. */
const historyCharactersMax = 2000;

export const revisionKey = 'deployment.kubernetes.io/revision';
export const historyKey = 'deployment.kubernetes.io/revision-history';
/** Replicas, and replicas plus surge, of the deployment when the replica set was last scaled. */
export const desiredKey = 'deployment.kubernetes.io/desired-replicas';
export const maximumKey = 'deployment.kubernetes.io/max-replicas';

/** Annotations that are not copied from a deployment to its replica sets. */
const keptKeys: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  revisionKey,
  historyKey,
  desiredKey,
  maximumKey,
]);

export type Annotations = Record<string, string>;

/** A whole number in an annotation; undefined when there is none. */
export function numberIn({ metadata }: ApiObject, key: string): number | undefined {
  const text = metadata.annotations?.[key];
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const revisionOf = (set: ReplicaSet): number => numberIn(set, revisionKey) ?? 0;

/** The revision of the newest template, from those of all other sets. */
export const nextRevision = (oldSets: readonly ReplicaSet[]): number =>
  Math.max(0, ...oldSets.map(revisionOf)) + 1;

/** The annotations of the newest replica set: those of the deployment, and its revision. */
export function revisedAnnotations(
  deployment: Deployment,
  annotations: Readonly<Annotations> | undefined,
  revision: number,
): Annotations {
  const revised: Annotations = { ...annotations };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {}))
    if (!keptKeys.has(key)) revised[key] = value;
  const { [revisionKey]: before } = revised;
  const known = before === undefined ? 0 : numberIn({ metadata: { annotations: revised } }, revisionKey);
  // An invalid annotation is left as it is.
  if (known === undefined || known >= revision) return revised;
  revised[revisionKey] = String(revision);
  if (before !== undefined) revised[historyKey] = lengthened(revised[historyKey], before);
  return revised;
}

function lengthened(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(',') : []), revision];
  let length = revisions.join(',').length;
  while (length > historyCharactersMax) length -= revisions.shift()!.length + 1;
  return revisions.join(',');
}

export const sizeAnnotations = (desired: number, maximum: number): Annotations => ({
  [desiredKey]: String(desired),
  [maximumKey]: String(maximum),
});

/** Oldest revision first. */
export const byRevision = (a: ReplicaSet, b: ReplicaSet): number =>
  revisionOf(a) - revisionOf(b) || byAge(a, b);

/** Oldest first. */
export function byAge({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number {
  if (a.creationTimestamp !== b.creationTimestamp)
    return (a.creationTimestamp ?? '') < (b.creationTimestamp ?? '') ? -1 : 1;
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}
