/**
 * Victims: which surplus pods are deleted first. Pods that do not run yet, that are not ready, that have a low
 * deletion cost, that share their node with others of their kind, and that are new go before others.
 */
import type { IndexedPod } from './indexed-pod.ts';

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const neverReady = 64;

/** The pods in order of deletion. `related` are pods of the same kind that stay. */
export function victimsFirst(
  pods: readonly IndexedPod[],
  nowMs: number,
  related: readonly IndexedPod[] = [],
): IndexedPod[] {
  const neighbours = new Map<string, number>();
  for (const { nodeName } of [...pods, ...related])
    neighbours.set(nodeName, (neighbours.get(nodeName) ?? 0) + 1);
  /** Sort keys: a pod with smaller numbers is deleted sooner; earlier numbers take precedence. */
  const ranks = new Map(
    pods.map((pod) => [
      pod,
      [
        pod.nodeName ? 1 : 0,
        phaseRank[pod.phase] ?? 0,
        pod.ready ? 1 : 0,
        pod.deletionCost,
        -(pod.nodeName ? neighbours.get(pod.nodeName)! : 0),
        pod.ready ? readyRank(pod.readyChangedMs, nowMs) : 0,
        -pod.restartsMax,
        -pod.createdMs,
      ],
    ]),
  );
  return [...pods].sort((a, b) => compare(ranks.get(a)!, ranks.get(b)!) || (a.uid < b.uid ? -1 : 1));
}

/**
 * How long a pod has been ready, in powers of two: small differences are random, and using them would always select
 * the pods of the same rollout step. A pod without a known time goes first.
 */
function readyRank(sinceMs: number | undefined, nowMs: number): number {
  if (sinceMs === undefined) return -neverReady;
  const forMs = nowMs - sinceMs;
  return forMs <= 0 ? -1 : Math.floor(Math.log2(forMs * 1e6));
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [i, rank] of a.entries()) if (rank !== b[i]) return rank - b[i]!;
  return 0;
}
