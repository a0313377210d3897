/**
 * Failure back-off: delays the replacement of pods that keep failing, by set and place: a node, an ordinal, or '' for
 * sets whose pods have no places. A node that refused a pod would refuse the next one at once.
 */

const firstMs = 1_000;
const maxMs = 15 * 60_000;
/** Without failures for this long, the back-off of a place is reset. */
const forgivenMs = 2 * maxMs;

interface Failure {
  waitMs: number;
  lastMs: number;
}

export class FailureBackoff {
  /** By set, then by place. */
  readonly #sets = new Map<string, Map<string, Failure>>();

  /** Delay before the next replacement. */
  waitMs(set: string, place: string, nowMs: number): number {
    const failure = this.#sets.get(set)?.get(place);
    return failure ? Math.max(0, failure.lastMs + failure.waitMs - nowMs) : 0;
  }

  /** Records a replacement. */
  failed(set: string, place: string, nowMs: number): void {
    const places = this.#sets.get(set) ?? new Map<string, Failure>();
    this.#sets.set(set, places);
    for (const [name, { lastMs }] of places) if (nowMs - lastMs > forgivenMs) places.delete(name);
    const before = places.get(place);
    places.set(place, { waitMs: before ? Math.min(before.waitMs * 2, maxMs) : firstMs, lastMs: nowMs });
  }

  /** Forgets a deleted set. */
  forget(set: string): void {
    this.#sets.delete(set);
  }
}
