/** Growing pauses between attempts at work that fails for reasons outside the cluster, by key. */

const firstMs = 1_000;
const maxMs = 300_000;

export class Pauses {
  readonly #failures = new Map<string, number>();

  /** The pause before the next attempt. */
  next(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(firstMs * 2 ** failures, maxMs);
  }

  /** Called when the work has succeeded, or is no longer wanted. */
  forget(key: string): void {
    this.#failures.delete(key);
  }
}
