/**
 * Revisions of a deployment, in annotations of its replica sets: the newest template has the highest number. A
 * template that is used again gets a new number, and keeps a list of its former ones.
 */

import type { Deployment, ReplicaSet } from '../../api/generated/types.ts';
import { isInt64 } from '../../api/text/exact-json.ts';
import type { ApiObject } from '../../api/text/object.ts';

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

/** A whole number in an annotation, or undefined. */
export function numberIn({ metadata }: ApiObject, key: string): number | undefined {
  const text = metadata.annotations?.[key];
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Parses a revision number. Kubernetes uses 64 bits, and other servers may use numbers beyond 2^53. */
function revisionIn(text: string | undefined): bigint | undefined {
  const revision =
    text !== undefined && /^[-+]?\d{1,19}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  return revision !== undefined && isInt64(revision) ? revision : undefined;
}

const revisionOf = ({ metadata }: ReplicaSet): bigint =>
  revisionIn(metadata.annotations?.[revisionKey]) ?? 0n;

/**
 * The revision number for the newest template, given the sets of all others. At the 64-bit maximum there is no next
 * one.
 */
export function nextRevision(oldSets: readonly ReplicaSet[]): bigint {
  let newest = 0n;
  for (const set of oldSets) if (revisionOf(set) > newest) newest = revisionOf(set);
  return isInt64(newest + 1n) ? newest + 1n : newest;
}

/** The annotations of the newest replica set: those of the deployment, and its revision. */
export function revisedAnnotations(
  deployment: Deployment,
  annotations: Readonly<Annotations> | undefined,
  revision: bigint,
): Annotations {
  const revised: Annotations = { ...annotations };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {}))
    if (!keptKeys.has(key)) revised[key] = value;
  const { [revisionKey]: before } = revised;
  const known = before === undefined ? 0n : revisionIn(before);
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
export function byRevision(a: ReplicaSet, b: ReplicaSet): number {
  const [x, y] = [revisionOf(a), revisionOf(b)];
  return x === y ? byAge(a, b) : x < y ? -1 : 1;
}

/** Oldest first. */
export function byAge({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number {
  if (a.creationTimestamp !== b.creationTimestamp)
    return (a.creationTimestamp ?? '') < (b.creationTimestamp ?? '') ? -1 : 1;
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}
