/**
 * Work queues: keys of objects to process. A key that is added while it waits is kept once; one that is added while
 * it is processed is processed again afterwards. Failed keys are retried with exponential back-off, and dropped after
 * a number of tries: the next change of the object adds them again.
 */
import { systemTimers, type Timer, type Timers, timerMaxMs } from '../../timers.ts';

const retryDefault = { firstMs: 5, maxMs: 30_000 };
const triesMaxDefault = 20;
/** Keys processed concurrently, and started per event loop tick. */
const widthDefault = 8;
/** When those that were started in a tick took longer than this, the others are started in the next. */
const tickMaxMs = 3;
/** Keys delayed for longer than this do not count as pending work. */
const soonMs = 1_000;

export interface WorkQueueOptions {
  /** Default: the system's timers. */
  readonly timers?: Timers;
  /** Reconciles the object of a key. */
  readonly work: (key: string) => Promise<void>;
  /** Called for every failure. */
  readonly onError: (key: string, error: Error) => void;
  /** Keys processed concurrently. */
  readonly width?: number;
  /** Tries before a key is dropped. Infinity for work that may succeed without a change of its object. */
  readonly triesMax?: number;
  /** The delay after the first failure, which doubles with each further one, and the maximum delay. */
  readonly retry?: { readonly firstMs: number; readonly maxMs: number };
}

interface Appointment {
  readonly timer: Timer;
  readonly atMs: number;
}

export class WorkQueue {
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  readonly #again = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #retries = new Map<string, Timer>();
  readonly #appointments = new Map<string, Appointment>();
  #turn: NodeJS.Immediate | undefined;
  #idle: (() => void)[] = [];
  #closed = false;

  readonly #timers: Timers;

  constructor(private readonly options: WorkQueueOptions) {
    this.#timers = options.timers ?? systemTimers;
  }

  add(key: string): void {
    if (this.#closed) return;
    if (this.#working.has(key)) this.#again.add(key);
    else {
      this.#waiting.add(key);
      this.#takeTurn();
    }
  }

  /** Adds a key after a delay, or never; of several delays for the same key the shortest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed || delayMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(Math.max(delayMs, 0), timerMaxMs);
    const atMs = this.#timers.nowMs() + waitMs;
    const before = this.#appointments.get(key);
    if (before && before.atMs <= atMs) return;
    this.#timers.clear(before?.timer);
    const timer = this.#timers.set(() => {
      this.#appointments.delete(key);
      this.add(key);
    }, waitMs);
    timer.unref();
    this.#appointments.set(key, { timer, atMs });
  }

  /**
   * Whether no key waits, is processed, is to be retried, or is due soon. While a test has stopped the clock, nothing
   * is due.
   */
  get settled(): boolean {
    if (this.#waiting.size + this.#working.size > 0) return false;
    if (!this.#timers.isRunning) return true;
    if (this.#retries.size > 0) return false;
    const soon = this.#timers.nowMs() + soonMs;
    for (const { atMs } of this.#appointments.values()) if (atMs <= soon) return false;
    return true;
  }

  /** Yields to the event loop: work that never awaits would block the process otherwise. */
  #takeTurn(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#next();
    });
  }

  #next(): void {
    const begunMs = performance.now();
    for (const key of this.#waiting) {
      if (this.#working.size >= (this.options.width ?? widthDefault)) return;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#run(key);
      // Some take milliseconds before they first await, such as those that verify or sign requests for certificates.
      if (performance.now() - begunMs > tickMaxMs && this.#waiting.size > 0) return this.#takeTurn();
    }
  }

  async #run(key: string): Promise<void> {
    this.#timers.clear(this.#retries.get(key));
    this.#retries.delete(key);
    try {
      await this.options.work(key);
      this.#tries.delete(key);
    } catch (error) {
      this.#retry(key, error as Error);
    }
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
    if (this.#waiting.size > 0) this.#takeTurn();
    if (this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #retry(key: string, error: Error): void {
    if (this.#closed) return;
    this.options.onError(key, error);
    const tries = (this.#tries.get(key) ?? 0) + 1;
    if (tries >= (this.options.triesMax ?? triesMaxDefault)) {
      this.#tries.delete(key);
      return;
    }
    this.#tries.set(key, tries);
    const { firstMs, maxMs } = this.options.retry ?? retryDefault;
    const timer = this.#timers.set(
      () => {
        this.#retries.delete(key);
        this.add(key);
      },
      Math.min(firstMs * 2 ** (tries - 1), maxMs),
    );
    timer.unref();
    this.#retries.set(key, timer);
  }

  /** Accepts no more keys, and resolves when those being processed are done. */
  async close(): Promise<void> {
    this.#closed = true;
    clearImmediate(this.#turn);
    for (const timer of this.#retries.values()) this.#timers.clear(timer);
    for (const { timer } of this.#appointments.values()) this.#timers.clear(timer);
    this.#retries.clear();
    this.#appointments.clear();
    this.#waiting.clear();
    if (this.#working.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
