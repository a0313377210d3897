/**
 * A question that many ask at once. One is out at a time; callers that come meanwhile share the next one, because the
 * answer to a question that was asked before they came may be too old for them. The next one is sent before those who
 * have their answer go on, so that etcd works on it while they do.
 */
import { setImmediate } from 'node:timers/promises';

interface Next<T> {
  readonly answer: Promise<T>;
  readonly settle: (answer: Promise<T>) => void;
}

export class SharedQuestion<T> {
  #isOut = false;
  #next: Next<T> | undefined;

  constructor(private readonly ask: () => Promise<T>) {}

  answer(): Promise<T> {
    if (!this.#isOut) return this.#begin();
    this.#next ??= next();
    return this.#next.answer;
  }

  #begin(): Promise<T> {
    this.#isOut = true;
    return this.ask().finally(() => this.#goOn());
  }

  #goOn(): Promise<void> | undefined {
    const waiting = this.#next;
    this.#next = undefined;
    this.#isOut = false;
    if (!waiting) return undefined;
    waiting.settle(this.#begin());
    // Connections send at the end of the tick.
    return setImmediate();
  }
}

function next<T>(): Next<T> {
  let settle!: (answer: Promise<T>) => void;
  const answer = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { answer, settle };
}
