/**
 * Departures: answers that are ready in one turn leave together, when all of them are. A client that waits is woken up
 * to take an answer, which costs more than to send it; whoever is still awake from the answer before need not be.
 */
export class Departures {
  #waiting: (() => void)[] = [];
  readonly #leave = (): void => {
    const ready = this.#waiting;
    this.#waiting = [];
    for (const send of ready) send();
  };

  add(send: () => void): void {
    if (this.#waiting.push(send) === 1) process.nextTick(this.#leave);
  }
}
