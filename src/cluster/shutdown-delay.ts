/** How long a cluster still serves after it was asked to close, so that those who send it requests can turn elsewhere. */
import { setTimeout as sleep } from 'node:timers/promises';

export class ShutdownDelay {
  #over: Promise<unknown> | undefined;

  constructor(readonly delayMs: number = 0) {}

  get hasBegun(): boolean {
    return this.#over !== undefined;
  }

  /** Resolves when the delay is over, which begins with the first call. */
  async pass(): Promise<void> {
    if (this.delayMs) await (this.#over ??= sleep(this.delayMs));
  }
}
