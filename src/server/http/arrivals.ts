/**
 * Arrivals: requests that arrive in one turn of the event loop are taken up together at its end. Each step then
 * runs for all of them before the next begins, and finds its code where the processor has it at hand; taken up one
 * by one, between reads of sockets, writes cost nearly twice as much.
 */
/** Of more than this, the rest waits a turn: those before may be answered by then, and others want a turn, too. */
const turnMax = 64;

export class Arrivals {
  #waiting: (() => void)[] = [];
  readonly #takeUp = (): void => {
    const arrived = this.#waiting;
    this.#waiting = arrived.length > turnMax ? arrived.splice(turnMax) : [];
    if (this.#waiting.length > 0) setImmediate(this.#takeUp);
    for (const handle of arrived) handle();
  };

  add(handle: () => void): void {
    if (this.#waiting.push(handle) === 1) setImmediate(this.#takeUp);
  }
}
