/** Wakeups: when a worker looks at its pod again. Whatever happens in one tick of the event loop makes it look once. */

const timerMaxMs = 2 ** 31 - 1;

export class Wakeups {
  /** `idle` until something asks for a look. */
  #state: 'idle' | 'soon' | 'closed' = 'idle';
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly look: () => void,
    private readonly now: () => number,
  ) {}

  /** Looks before anything else happens, and after all that happens now. */
  soon(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'soon';
    queueMicrotask(() => {
      if (this.#state === 'closed') return;
      this.#state = 'idle';
      this.look();
    });
  }

  /** Looks after a time; of several times, after the shortest, and then it is for the look to ask again. */
  in(ms: number): void {
    const atMs = this.now() + ms;
    if (this.#state === 'closed' || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(
      () => {
        this.#timerAtMs = Number.POSITIVE_INFINITY;
        this.soon();
      },
      Math.min(Math.ceil(ms), timerMaxMs),
    );
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
  }
}
