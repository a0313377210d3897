/**
 * A question that many ask at once. One is out at a time; callers that come meanwhile share the next one, because the
 * answer to a question that was asked before they came may be too old for them.
 */
export class SharedQuestion<T> {
  #current: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(private readonly ask: () => Promise<T>) {}

  answer(): Promise<T> {
    if (!this.#current) return this.#begin();
    this.#next ??= this.#current.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    const asked = this.ask();
    this.#current = asked;
    const done = (): void => {
      if (this.#current === asked) this.#current = undefined;
    };
    asked.then(done, done);
    return asked;
  }
}
