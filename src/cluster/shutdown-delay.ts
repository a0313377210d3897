/**
 * Delays the shutdown: the cluster still serves for a while after it was asked to close, so that clients and load
 * balancers can turn elsewhere.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export class ShutdownDelay {
  #over: Promise<unknown> | undefined;

  constructor(readonly delayMs: number = 0) {}

  get hasBegun(): boolean {
    return this.#over !== undefined;
  }

  /** Resolves when the delay is over; it begins with the first call. */
  async pass(): Promise<void> {
    if (this.delayMs) await (this.#over ??= sleep(this.delayMs));
  }
}
