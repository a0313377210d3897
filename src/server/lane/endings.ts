/**
 * Endings: to close a connection over TLS takes a fifth of a millisecond, and a client can close thousands at once, which
 * the event loop sees in one turn. A few are closed in each; the others wait.
 */

/** Connections that are closed in one turn of the event loop. */
const turnMax = 16;

export class Endings {
  #waiting: (() => void)[] = [];
  #inTurn = 0;
  #isAwaited = false;

  /** Closes a connection, at once when few were closed in this turn. */
  add(close: () => void): void {
    this.#await();
    if (this.#inTurn++ < turnMax) close();
    else this.#waiting.push(close);
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isAwaited = false;
    const next = this.#waiting.splice(0, turnMax);
    this.#inTurn = next.length;
    if (next.length > 0) this.#await();
    for (const close of next) close();
  };
}
