/**
 * An idle timer: calls back when nothing has happened for a while. `touch` is cheap enough to be called for
 * every frame.
 */
export class IdleTimer {
  #last = performance.now();
  #timer: NodeJS.Timeout;

  constructor(idleMs: number, onIdle: () => void) {
    const check = () => {
      const left = this.#last + idleMs - performance.now();
      if (left > 0) this.#timer = setTimeout(check, left);
      else onIdle();
    };
    this.#timer = setTimeout(check, idleMs);
  }

  touch(): void {
    this.#last = performance.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
