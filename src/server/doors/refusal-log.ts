/** The log of refused credentials: bounded, because any client can send wrong ones without limit. */

/** Minimum time between two lines. */
const intervalMs = 10_000;

export class RefusalLog {
  #saidAtMs = -intervalMs;
  #unsaid = 0;

  constructor(private readonly log: (message: string) => void) {}

  add(address: string | undefined, { message }: Error): void {
    const nowMs = performance.now();
    if (nowMs - this.#saidAtMs < intervalMs) {
      this.#unsaid++;
      return;
    }
    const more = this.#unsaid ? ` (and ${this.#unsaid} more since the last line)` : '';
    this.#saidAtMs = nowMs;
    this.#unsaid = 0;
    this.log(`a request from ${address ?? 'a closed connection'} was not authenticated: ${message}${more}`);
  }
}
