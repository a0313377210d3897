/**
 * Timers of everything that waits for a moment of the cluster: retries, deadlines, schedules, leases. They are handed
 * in together with the clock, so that a test can move both. Timeouts of connections and requests use Node's own.
 */

export interface Timer {
  /** The process may end while the timer waits. */
  unref(): unknown;
}

export interface Timers {
  /** Milliseconds since some moment; only differences mean something. */
  nowMs(): number;
  /** False while time stands still: what waits for a timer waits until the clock is moved. */
  readonly isRunning: boolean;
  /**
   * @param slackMs how much later it may fire, together with others, where hours pass in a moment; a running clock keeps
   * to the delay
   */
  set(callback: () => void, delayMs: number, slackMs?: number): Timer;
  repeat(callback: () => void, intervalMs: number): Timer;
  clear(timer: Timer | undefined): void;
}

/** Node's longest; a longer one would fire at once. */
export const timerMaxMs = 2 ** 31 - 1;

export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  isRunning: true,
  set: (callback, delayMs) => setTimeout(callback, Math.min(delayMs, timerMaxMs)),
  repeat: (callback, intervalMs) => setInterval(callback, intervalMs),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
};
