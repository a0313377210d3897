/**
 * Closers: how to close what has been started. Each part adds its closer when it starts, and closing runs them from
 * the newest to the oldest, so every part is closed before the parts it depends on.
 */

export type Closer = () => unknown;

export class Closers {
  readonly #stack: Closer[] = [];
  readonly #failures: unknown[] = [];
  #closing: Promise<void> | undefined;

  /** Whether closing has begun: a start under way should stop. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** Adds a closer. After closing has begun, it runs with the rest; after closing has finished, at once. */
  add(close: Closer): void {
    this.#stack.push(close);
    if (!this.#closing) return;
    const again = (): Promise<void> => this.#closeAll();
    this.#closing = this.#closing.then(again, again);
    // The caller of `close()` gets the error.
    this.#closing.catch(() => undefined);
  }

  /**
   * Closes every part, one after the other. A failure does not stop the others: failures are thrown at the
   * end, as one error or an AggregateError. Safe to call twice.
   */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (let close = this.#stack.pop(); close; close = this.#stack.pop()) {
      try {
        await close();
      } catch (error) {
        this.#failures.push(error);
      }
    }
    if (this.#failures.length > 1) throw new AggregateError(this.#failures, wordsOf(this.#failures));
    if (this.#failures.length) throw this.#failures[0];
  }
}

const wordsOf = (failures: readonly unknown[]): string =>
  failures.map((failure) => (failure instanceof Error ? failure.message : String(failure))).join('; ');
