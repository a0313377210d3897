/** Finds out that nothing has happened for a while. Telling it that something has is cheap enough for every frame. */
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
