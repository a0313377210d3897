/**
 * Since when the slices of a service were out of date: the time of the oldest change that its next write answers.
 * Clients measure with it how long changes take to arrive. Known are the creation of services, and when pods became
 * ready or stopped to be.
 */
import type { IndexedPod } from '../shared/indexed-pod.ts';

export class TriggerTimes {
  /** Readiness times that were seen, by service and then by pod. */
  readonly #seen = new Map<string, ReadonlyMap<string, number>>();

  /** Undefined when no time is known of what has changed. */
  since(key: string, createdMs: number, pods: readonly IndexedPod[]): number | undefined {
    const before = this.#seen.get(key);
    const times = new Map<string, number>();
    let oldest: number | undefined;
    for (const { uid, readyChangedMs } of pods) {
      if (readyChangedMs === undefined) continue;
      times.set(uid, readyChangedMs);
      if (readyChangedMs > (before?.get(uid) ?? 0))
        oldest = Math.min(oldest ?? readyChangedMs, readyChangedMs);
    }
    this.#seen.set(key, times);
    return before ? oldest : createdMs;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
