/**
 * Preemption: which pods of lower priority are evicted so that a pod fits, chosen as kube-scheduler does. On each node
 * all of them are removed in the scheduler's cache; then as many as possible are put back, first those whose disruption
 * budget would be violated, then the more important ones. The node where the least is lost is chosen.
 */
import type { ClusterFacts } from './cluster-facts.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

/** In a large cluster the search stops at this many nodes. */
const candidatesMax = 100;

/** A node, and its pods to evict, the most important first. */
export interface Candidate {
  readonly node: NodeFacts;
  readonly victims: readonly PodFacts[];
  /** How many of them violate a disruption budget. */
  readonly violations: number;
}

export interface PreemptionContext {
  readonly cluster: ClusterFacts;
  /** Whether the pod fits, with the cluster as it is in the cache now. */
  readonly fits: (pod: PodFacts, node: NodeFacts) => boolean;
  /** The pods whose eviction a budget would not allow, if all were evicted in this order. */
  readonly violating: (pods: readonly PodFacts[]) => ReadonlySet<PodFacts>;
}

/** Why a pod may not preempt others. */
export function ineligibility(pod: PodFacts, nominated: NodeFacts | undefined): string | undefined {
  if (pod.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const leaving = [...(nominated?.pods.values() ?? [])].some(
    (other) => other.preempted && other.priority < pod.priority,
  );
  return leaving ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
}

/** The best of these nodes; undefined when nothing would help. */
export function preemptionFor(
  pod: PodFacts,
  nodes: readonly NodeFacts[],
  context: PreemptionContext,
): Candidate | undefined {
  const candidates: Candidate[] = [];
  for (const node of nodes) {
    const candidate = candidateOn(pod, node, context);
    if (candidate) candidates.push(candidate);
    if (candidates.length >= candidatesMax) break;
  }
  return best(candidates);
}

function candidateOn(
  pod: PodFacts,
  node: NodeFacts,
  { cluster, fits, violating }: PreemptionContext,
): Candidate | undefined {
  const lower = [...node.pods.values()].filter(({ priority }) => priority < pod.priority).sort(byImportance);
  if (!lower.length) return undefined;
  const away = new Set(lower);
  for (const { uid } of lower) cluster.displace(uid);
  const stays = (one: PodFacts): boolean => {
    cluster.place(one, node.name);
    if (fits(pod, node)) return away.delete(one);
    cluster.displace(one.uid);
    return false;
  };
  try {
    if (!fits(pod, node)) return undefined;
    const guarded = violating(lower);
    const violations = lower.filter((one) => guarded.has(one) && !stays(one)).length;
    for (const one of lower) if (!guarded.has(one)) stays(one);
    const victims = lower.filter((one) => away.has(one));
    return victims.length ? { node, victims, violations } : undefined;
  } finally {
    for (const one of away) cluster.place(one, node.name);
  }
}

/** Higher priority first, then the one that has run longer. */
const byImportance = (a: PodFacts, b: PodFacts): number =>
  b.priority - a.priority || a.startedMs - b.startedMs || (a.key < b.key ? -1 : 1);

/** Criteria for comparing candidates, in order; less is better. */
const losses: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => victims[0]!.priority,
  // Shifted above zero, so that more victims never count as less.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
  ({ victims }) =>
    -Math.min(
      ...victims
        .filter(({ priority }) => priority === victims[0]!.priority)
        .map(({ startedMs }) => startedMs),
    ),
];

function best(candidates: readonly Candidate[]): Candidate | undefined {
  let left = candidates;
  for (const loss of losses) {
    if (left.length <= 1) break;
    const least = Math.min(...left.map(loss));
    left = left.filter((candidate) => loss(candidate) === least);
  }
  return left[0];
}
