/**
 * Paces long work: pauses it whenever it has held the event loop for some milliseconds, so that other requests are
 * served. Short work never waits. All paced work that begins in one turn of the event loop shares these milliseconds, and
 * of all that pauses one goes on in each turn: many clients who ask for long answers at once do not hold the loop longer
 * than one.
 */
import { answersBegunMs, turnToAnswer } from '../../time-slices.ts';

/** How long work may hold the event loop: a request that arrives meanwhile waits for the rest of it. */
const turnMaxMs = 2.5;

export class Pace {
  #begunMs = answersBegunMs();

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
    await turnToAnswer();
    this.#begunMs = answersBegunMs();
  }
}
