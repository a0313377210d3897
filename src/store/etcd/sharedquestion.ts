/**
 * A question that many ask at once. One is out at a time; callers that come meanwhile share the next one, because the
 * answer to a question that was asked before they came may be too old for them. Those that come in one event loop tick
 * share one, too.
 *
 * Callers get their answer a few at a time, and one tick after it came: requests that have arrived until then are taken
 * up first, so that etcd works on their question while the answers to these are made.
 */
import { setImmediate } from 'node:timers/promises';

/** How many callers go on in one tick. */
const callersPerTick = 16;

/** The callers of one question, in groups that go on together. */
class Callers<T> {
  readonly #groups: { readonly answer: Promise<T>; readonly settle: (answer: Promise<T>) => void }[] = [];
  #places = 0;

  join(): Promise<T> {
    if (this.#places === 0) {
      let settle!: (answer: Promise<T>) => void;
      const answer = new Promise<T>((resolve) => {
        settle = resolve;
      });
      this.#groups.push({ answer, settle });
      this.#places = callersPerTick;
    }
    this.#places--;
    return this.#groups.at(-1)!.answer;
  }

  async tell(answer: Promise<T>): Promise<void> {
    for (const { settle } of this.#groups) {
      await setImmediate();
      settle(answer);
    }
  }
}

export class SharedQuestion<T> {
  #isOut = false;
  #next: Callers<T> | undefined;

  constructor(private readonly ask: () => Promise<T>) {}

  answer(): Promise<T> {
    if (!this.#next) {
      this.#next = new Callers();
      if (!this.#isOut) process.nextTick(() => this.#begin());
    }
    return this.#next.join();
  }

  #begin(): void {
    const callers = this.#next;
    if (!callers || this.#isOut) return;
    this.#next = undefined;
    this.#isOut = true;
    const answer = this.ask();
    const goOn = (): void => {
      this.#isOut = false;
      this.#begin();
      void callers.tell(answer);
    };
    answer.then(goOn, goOn);
  }
}
