/**
 * Closers: how to close what has been started. Each part adds its closer when it starts, and closing runs them from
 * the newest to the oldest, so every part is closed before the parts it depends on.
 */

export type Closer = () => unknown;

interface Part {
  readonly close: Closer;
  readonly name: string | undefined;
}

export class Closers {
  readonly #stack: Part[] = [];
  readonly #failures: unknown[] = [];
  #closing: Promise<void> | undefined;
  #current: string | undefined;

  /** Whether closing has begun: a start under way should stop. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** The part whose closing is awaited now, in words; undefined when there is no such part, or it has no name. */
  get current(): string | undefined {
    return this.#current;
  }

  /**
   * Adds a closer. After closing has begun, it runs with the rest; after closing has finished, at once.
   * @param name what is closed, in words, for those who wait for it
   */
  add(close: Closer, name?: string): void {
    this.#stack.push({ close, name });
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
    for (let part = this.#stack.pop(); part; part = this.#stack.pop()) {
      this.#current = part.name;
      try {
        await part.close();
      } catch (error) {
        this.#failures.push(error);
      }
    }
    this.#current = undefined;
    if (this.#failures.length > 1) throw new AggregateError(this.#failures, wordsOf(this.#failures));
    if (this.#failures.length) throw this.#failures[0];
  }
}

const wordsOf = (failures: readonly unknown[]): string =>
  failures.map((failure) => (failure instanceof Error ? failure.message : String(failure))).join('; ');
