/**
 * Rolling plans: the next sizes of a deployment's replica sets, such that there are never too many pods nor too few
 * available ones.
 *
 * A status may be older than the spec. For pods that may exist the larger of the two numbers counts, for pods that
 * can be relied on the smaller.
 */
import type { DeploymentSpec, ReplicaSet } from '../../api/generated/types.ts';
import { byAge, desiredKey, maximumKey, numberIn } from './revisions.ts';

export interface Bounds {
  /** Pods beyond the requested number. */
  readonly maxSurge: number;
  /** Pods that may be unavailable. */
  readonly maxUnavailable: number;
}

/** A replica set and its new size. */
export type Sizes = readonly (readonly [set: ReplicaSet, size: number])[];

export const sizeOf = ({ spec }: ReplicaSet): number => spec?.replicas ?? 0;
const podsOf = (set: ReplicaSet): number => Math.max(sizeOf(set), set.status?.replicas ?? 0);
const availableOf = (set: ReplicaSet): number => Math.min(sizeOf(set), set.status?.availableReplicas ?? 0);
const sum = (sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number =>
  sets.reduce((total, set) => total + count(set), 0);
export const isInUse = (set: ReplicaSet): boolean => sizeOf(set) > 0;

/** A bound as a number of pods; percentages are rounded up or down. */
export const resolved = (
  bound: number | string = 0,
  replicas: number,
  round: (value: number) => number,
): number => (typeof bound === 'number' ? bound : round((Number.parseInt(bound, 10) * replicas) / 100));

export function boundsOf({ replicas = 1, strategy }: DeploymentSpec): Bounds {
  if (strategy?.type !== 'RollingUpdate') return { maxSurge: 0, maxUnavailable: 0 };
  const maxSurge = resolved(strategy.rollingUpdate?.maxSurge, replicas, Math.ceil);
  const maxUnavailable = resolved(strategy.rollingUpdate?.maxUnavailable, replicas, Math.floor);
  // Both may be rounded to zero; then the rollout could not make a step.
  const steps = maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable;
  return { maxSurge, maxUnavailable: Math.min(steps, replicas) };
}

/** Largest number of pods. */
export const maximumOf = (spec: DeploymentSpec): number => (spec.replicas ?? 1) + boundsOf(spec).maxSurge;

/** The new size of the newest set: it grows if the surge allows it. */
export function newSetSize(
  spec: DeploymentSpec,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
): number {
  const { replicas = 1, strategy } = spec;
  const size = newSet ? sizeOf(newSet) : 0;
  if (strategy?.type !== 'RollingUpdate' || size >= replicas) return replicas;
  const room = maximumOf(spec) - (newSet ? podsOf(newSet) : 0) - sum(oldSets, podsOf);
  return size + Math.max(0, Math.min(room, replicas - size));
}

/** Old sets that can shrink: first by pods that are not available, then by pods that new ones replace. */
export function oldSetSizes(spec: DeploymentSpec, newSet: ReplicaSet, oldSets: readonly ReplicaSet[]): Sizes {
  const minAvailable = (spec.replicas ?? 1) - boundsOf(spec).maxUnavailable;
  const available = sum([...oldSets, newSet], availableOf);
  let useless = sum(oldSets, sizeOf) + availableOf(newSet) - minAvailable;
  let spare = available - minAvailable;
  const sizes: [ReplicaSet, number][] = [];
  const sorted = oldSets.filter(isInUse).sort(byAge);
  const kept = new Map(sorted.map((set) => [set, sizeOf(set)]));
  const take = (set: ReplicaSet, count: number, allowance: number): number => {
    const taken = Math.max(0, Math.min(count, allowance));
    kept.set(set, kept.get(set)! - taken);
    return taken;
  };
  for (const set of sorted) useless -= take(set, sizeOf(set) - availableOf(set), useless);
  for (const set of sorted) spare -= take(set, kept.get(set)!, spare);
  for (const [set, size] of kept) if (size !== sizeOf(set)) sizes.push([set, size]);
  return sizes;
}

/** Whether the deployment was scaled after its replica sets. */
export const isScaled = ({ replicas = 1 }: DeploymentSpec, sets: readonly ReplicaSet[]): boolean =>
  sets.some((set) => isInUse(set) && (numberIn(set, desiredKey) ?? replicas) !== replicas);

/**
 * Sizes after the deployment was scaled. During a rollout every set grows or shrinks in proportion to its size, so
 * that a large deployment does not depend on a template that may be broken.
 */
export function scaledSizes(
  spec: DeploymentSpec,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
  statusReplicas: number,
): Sizes {
  const { replicas = 1, strategy } = spec;
  const only = onlySet(newSet, oldSets);
  if (only) return [[only, replicas]];
  const oldInUse = oldSets.filter(isInUse);
  if (newSet && isSaturated(newSet, replicas)) return oldInUse.map((set) => [set, 0]);
  if (strategy?.type !== 'RollingUpdate') return [];
  return shares(spec, newSet && isInUse(newSet) ? [...oldInUse, newSet] : oldInUse, statusReplicas);
}

/** The only set with replicas; the newest if no set has replicas. */
function onlySet(newSet: ReplicaSet | undefined, oldSets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const inUse = [...oldSets, ...(newSet ? [newSet] : [])].filter(isInUse);
  if (inUse.length === 0) return newSet ?? [...oldSets].sort(byAge).at(-1);
  return inUse.length === 1 ? inUse[0] : undefined;
}

const isSaturated = (set: ReplicaSet, replicas: number): boolean =>
  sizeOf(set) === replicas &&
  numberIn(set, desiredKey) === replicas &&
  (set.status?.availableReplicas ?? 0) === replicas;

function shares(spec: DeploymentSpec, inUse: readonly ReplicaSet[], statusReplicas: number): Sizes {
  const allowed = spec.replicas ? maximumOf(spec) : 0;
  const wanted = allowed - sum(inUse, sizeOf);
  // The largest first; among equals, growth goes to the newest, and shrinking starts with the oldest.
  const sorted = [...inUse].sort((a, b) => sizeOf(b) - sizeOf(a) || (wanted > 0 ? byAge(b, a) : byAge(a, b)));
  let left = wanted;
  const sizes = sorted.map((set): [ReplicaSet, number] => {
    const fair = fraction(spec, set, statusReplicas);
    const share = wanted > 0 ? Math.min(fair, left) : Math.max(fair, left);
    if (left === 0) return [set, sizeOf(set)];
    left -= share;
    return [set, sizeOf(set) + share];
  });
  // The remainder after rounding goes to the largest.
  if (sizes[0]) sizes[0][1] = Math.max(0, sizes[0][1] + left);
  return sizes;
}

/** By how much a set grows or shrinks to keep its proportion. */
function fraction(spec: DeploymentSpec, set: ReplicaSet, statusReplicas: number): number {
  const size = sizeOf(set);
  if (!spec.replicas) return -size;
  const before = numberIn(set, maximumKey) ?? statusReplicas;
  return before > 0 ? Math.round((size * maximumOf(spec)) / before) - size : 0;
}
