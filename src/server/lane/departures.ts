/**
 * Departures: all answers that are ready in one tick of the event loop are sent together, so that a client with
 * several connections wakes up once. Waking a process costs more than sending an answer. The gain is part of the
 * express lane's figure (`express-lane.ts`).
 */
import { optimized } from '../../switches.ts';

export class Departures {
  constructor(private readonly together = optimized) {}

  #waiting: (() => void)[] = [];
  readonly #leave = (): void => {
    const ready = this.#waiting;
    this.#waiting = [];
    for (const send of ready) send();
  };

  add(send: () => void): void {
    if (!this.together) send();
    else if (this.#waiting.push(send) === 1) process.nextTick(this.#leave);
  }
}
