/**
 * Work queues: keys of things to look at. A key that is added while it waits is kept once; one that is added while
 * it is being worked on is looked at again afterwards. Failed keys come back after a growing delay, and are given
 * up after a number of tries: the next change to the object brings them back.
 */

const retryFirstMs = 5;
const retryMaxMs = 30_000;
const triesMax = 20;

export interface WorkQueueOptions {
  /** Brings the world in line with the object of a key. */
  readonly work: (key: string) => Promise<void>;
  /** Told of every failure. */
  readonly onError: (key: string, error: Error) => void;
  /** Keys worked on at once. */
  readonly width?: number;
}

export class WorkQueue {
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  readonly #again = new Set<string>();
  readonly #tries = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #idle: (() => void)[] = [];
  #closed = false;

  constructor(private readonly options: WorkQueueOptions) {}

  add(key: string): void {
    if (this.#closed) return;
    if (this.#working.has(key)) this.#again.add(key);
    else {
      this.#waiting.add(key);
      queueMicrotask(() => this.#next());
    }
  }

  /** Adds a key later; an earlier appointment for the same key is kept, a later one is moved forward. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timers.get(key));
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key);
    }, delayMs);
    timer.unref();
    this.#timers.set(key, timer);
  }

  /** Whether nothing waits, is worked on, or has an appointment. */
  get settled(): boolean {
    return this.#waiting.size + this.#working.size + this.#timers.size === 0;
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#working.size >= (this.options.width ?? 8)) return;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.options.work(key);
      this.#tries.delete(key);
    } catch (error) {
      this.#retry(key, error as Error);
    }
    this.#working.delete(key);
    if (this.#again.delete(key)) this.add(key);
    this.#next();
    if (this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #retry(key: string, error: Error): void {
    if (this.#closed) return;
    this.options.onError(key, error);
    const tries = (this.#tries.get(key) ?? 0) + 1;
    if (tries >= triesMax) {
      this.#tries.delete(key);
      return;
    }
    this.#tries.set(key, tries);
    this.addAfter(key, Math.min(retryFirstMs * 2 ** (tries - 1), retryMaxMs));
  }

  /** Takes no more work, and resolves when what is under way is done. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
    if (this.#working.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
