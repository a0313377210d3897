/**
 * Victims: which pods go first when there are too many. Those go whose loss is felt least: what does not run yet,
 * what is not ready, what its user calls cheap, what stands next to others of its kind, and what is new.
 */
import type { IndexedPod } from './indexedpod.ts';

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const neverReady = 64;

/** The pods in the order in which they should go. `related` are others of their kind that stay. */
export function victimsFirst(
  pods: readonly IndexedPod[],
  nowMs: number,
  related: readonly IndexedPod[] = [],
): IndexedPod[] {
  const neighbours = new Map<string, number>();
  for (const { nodeName } of [...pods, ...related])
    neighbours.set(nodeName, (neighbours.get(nodeName) ?? 0) + 1);
  /** The smaller, the sooner a pod goes; earlier numbers decide before later ones. */
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
 * For how long a pod has been ready, in powers of two: small differences are chance, and following them would
 * always hit the pods of the same deployment step. A pod of which nobody knows since when goes first.
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
