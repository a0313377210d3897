/**
 * Failure back-off: how long the pods of a set are not replaced on a node where they keep failing. A node that refuses
 * a pod would refuse the next one at once.
 */

const firstMs = 1_000;
const maxMs = 15 * 60_000;
/** Quiet for this long, a node is given a fresh start. */
const forgivenMs = 2 * maxMs;

interface Failure {
  waitMs: number;
  lastMs: number;
}

export class FailureBackoff {
  /** By set, then by node. */
  readonly #sets = new Map<string, Map<string, Failure>>();

  /** How long to wait before the next one may be replaced. */
  waitMs(set: string, node: string, nowMs: number): number {
    const failure = this.#sets.get(set)?.get(node);
    return failure ? Math.max(0, failure.lastMs + failure.waitMs - nowMs) : 0;
  }

  /** Notes that one has been replaced now. */
  failed(set: string, node: string, nowMs: number): void {
    const nodes = this.#sets.get(set) ?? new Map<string, Failure>();
    this.#sets.set(set, nodes);
    for (const [name, { lastMs }] of nodes) if (nowMs - lastMs > forgivenMs) nodes.delete(name);
    const before = nodes.get(node);
    nodes.set(node, { waitMs: before ? Math.min(before.waitMs * 2, maxMs) : firstMs, lastMs: nowMs });
  }

  /** The set is gone. */
  forget(set: string): void {
    this.#sets.delete(set);
  }
}
