/**
 * Answers of a session that its client has not read. Further requests wait when these are many, as they would behind
 * each other in HTTP/1.1, and the session ends when the client reads nothing for long.
 */
import { unreadBytesMax, unreadCheckMs, unreadMaxMs } from './session-settings.ts';

export class UnreadAnswers {
  #bytes = 0;
  /** Requests that wait until the client has read more. */
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #readMs = 0;

  /** @param stalled called when the client reads nothing */
  constructor(private readonly stalled: () => void) {}

  /** Runs a request now, or when the client has read enough of the answers before it. */
  whenRead(begin: () => void): void {
    if (this.#bytes <= unreadBytesMax) return begin();
    this.#waiting.push(begin);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= unreadBytesMax || this.#timer) return;
    this.#readMs = performance.now();
    this.#timer = setInterval(() => {
      if (performance.now() - this.#readMs > unreadMaxMs) this.#stall();
    }, unreadCheckMs);
    this.#timer.unref();
  }

  remove(bytes: number): void {
    if (bytes === 0) return;
    this.#bytes -= bytes;
    this.#readMs = performance.now();
    if (this.#bytes > unreadBytesMax) return;
    this.rest();
    for (const begin of this.#waiting.splice(0)) begin();
  }

  #stall(): void {
    this.rest();
    this.#waiting = [];
    this.stalled();
  }

  rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
