/**
 * Tracks since when the slices of a service are out of date: the time of the oldest change that the next write covers.
 * Clients measure with it how long changes take to arrive. Times are known for the creation of services and for changes
 * of pods' readiness.
 */
import type { IndexedPod } from '../shared/indexed-pod.ts';

export class TriggerTimes {
  /** Readiness times that were seen, by service and then by pod. */
  readonly #seen = new Map<string, ReadonlyMap<string, number>>();

  /** The time of the oldest change; undefined when it is not known. */
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
