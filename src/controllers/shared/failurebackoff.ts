/**
 * Failure back-off: delays the replacement of pods on a node where they keep failing. A node that refused a pod would
 * refuse the next one at once.
 */

const firstMs = 1_000;
const maxMs = 15 * 60_000;
/** Without failures for this long, the back-off of a node is reset. */
const forgivenMs = 2 * maxMs;

interface Failure {
  waitMs: number;
  lastMs: number;
}

export class FailureBackoff {
  /** By set, then by node. */
  readonly #sets = new Map<string, Map<string, Failure>>();

  /** Delay before the next replacement. */
  waitMs(set: string, node: string, nowMs: number): number {
    const failure = this.#sets.get(set)?.get(node);
    return failure ? Math.max(0, failure.lastMs + failure.waitMs - nowMs) : 0;
  }

  /** Records a replacement. */
  failed(set: string, node: string, nowMs: number): void {
    const nodes = this.#sets.get(set) ?? new Map<string, Failure>();
    this.#sets.set(set, nodes);
    for (const [name, { lastMs }] of nodes) if (nowMs - lastMs > forgivenMs) nodes.delete(name);
    const before = nodes.get(node);
    nodes.set(node, { waitMs: before ? Math.min(before.waitMs * 2, maxMs) : firstMs, lastMs: nowMs });
  }

  /** Forgets a deleted set. */
  forget(set: string): void {
    this.#sets.delete(set);
  }
}
