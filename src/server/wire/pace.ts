/**
 * Paces long work: pauses it whenever it has held the event loop for some milliseconds, so that other requests are
 * served. Short work never waits.
 */

/** How long work may hold the event loop. */
const turnMaxMs = 5;

export class Pace {
  #begunMs = performance.now();

  /** Whether it is time for a pause. */
  get isOver(): boolean {
    return performance.now() - this.#begunMs >= turnMaxMs;
  }

  /** Lets other work run, if it is time for that. */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.rest() : undefined;
  }

  /** Lets other work run. */
  async rest(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#begunMs = performance.now();
  }
}
