/**
 * A question that many ask at once. One is out at a time; callers that come meanwhile share the next one, because the
 * answer to a question that was asked before they came may be too old for them. Those that come in one event loop tick
 * share one, too.
 *
 * Callers get their answer one tick after it came: requests that have arrived until then are taken up first, so that etcd
 * works on their question while the answers to these are made.
 */
import { setImmediate } from 'node:timers/promises';

interface Callers<T> {
  readonly answer: Promise<T>;
  readonly settle: (answer: Promise<T>) => void;
}

export class SharedQuestion<T> {
  #isOut = false;
  #next: Callers<T> | undefined;

  constructor(private readonly ask: () => Promise<T>) {}

  answer(): Promise<T> {
    if (!this.#next) {
      this.#next = callers();
      if (!this.#isOut) process.nextTick(() => this.#begin());
    }
    return this.#next.answer;
  }

  #begin(): void {
    const asking = this.#next;
    if (!asking || this.#isOut) return;
    this.#next = undefined;
    this.#isOut = true;
    const answer = this.ask();
    const goOn = (): void => {
      this.#isOut = false;
      this.#begin();
      void setImmediate().then(() => asking.settle(answer));
    };
    answer.then(goOn, goOn);
  }
}

function callers<T>(): Callers<T> {
  let settle!: (answer: Promise<T>) => void;
  const answer = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { answer, settle };
}
