/**
 * The trace of one request: how long each phase of its way took. It is made only with `--trace-requests`; without it
 * the parts of a request have no trace, and nothing is measured.
 *
 * A trace is a clock with laps: `end(phase)` counts the time since the last lap under a phase. A request that passes a
 * phase twice, such as a patch that another writer overtook, has the sum.
 *
 *   queue      from the first read of the request until its handler runs: other requests, user and rights; the turn of
 *              a change among those of the same object
 *   decode     the body, and the object in it
 *   admission  defaults, plugins, addresses, rules
 *   encode     the object as the text that is stored
 *   commit     in the queue of the store, and on the way to the thread that writes and back
 *   sync       the transaction itself, with the disk
 *   feed       the change on its way to the view, watchers of this process and other writes of the same commit
 *   answer     everything after that, until the answer is handed to the connection
 */
export const phases = ['queue', 'decode', 'admission', 'encode', 'commit', 'sync', 'feed', 'answer'] as const;

export type Phase = (typeof phases)[number];

const places = new Map<Phase, number>(phases.map((phase, place) => [phase, place]));

export class RequestTrace {
  /** Milliseconds by phase, in the order of `phases`. */
  readonly timesMs = new Float64Array(phases.length);
  #lapMs: number;

  /**
   * @param begunMs when the request was read, on the monotonic clock
   * @param isShown whether the client is shown the trace
   */
  constructor(
    begunMs: number,
    readonly isShown: boolean,
  ) {
    this.#lapMs = begunMs;
  }

  /** Counts the time since the last lap under a phase, and returns it. */
  end(phase: Phase): number {
    const nowMs = performance.now();
    const tookMs = nowMs - this.#lapMs;
    this.timesMs[places.get(phase)!]! += tookMs;
    this.#lapMs = nowMs;
    return tookMs;
  }

  /** Counts the time since the last lap under two phases; `ms` is that of the second. */
  endBoth(first: Phase, second: Phase, ms: number): void {
    const tookMs = this.end(first);
    const movedMs = Math.min(ms, tookMs);
    this.timesMs[places.get(first)!]! -= movedMs;
    this.timesMs[places.get(second)!]! += movedMs;
  }

  /** As the value of a `Server-Timing` header: the phases that took any time, in milliseconds. */
  get header(): string {
    return phases
      .flatMap((phase, place) =>
        this.timesMs[place]! > 0 ? `${phase};dur=${this.timesMs[place]!.toFixed(3)}` : [],
      )
      .join(', ');
  }
}
