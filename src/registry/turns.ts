/**
 * Turns: changes to one object that come at once are worked out one after the other. All but one would lose their
 * round anyway; waiting costs them nothing, and spares the work of the rounds lost.
 */
export class Turns {
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves when it is this caller's turn at a key. Whoever has had a turn must give it up. */
  take(key: string): Promise<void> | undefined {
    const queue = this.#waiting.get(key);
    if (!queue) {
      this.#waiting.set(key, []);
      return undefined;
    }
    return new Promise((resolve) => queue.push(resolve));
  }

  giveUp(key: string): void {
    const next = this.#waiting.get(key)!.shift();
    if (next) next();
    else this.#waiting.delete(key);
  }
}
