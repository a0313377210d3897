/**
 * History: how much of the past is kept. Changes older than a time, and beyond a number, are forgotten by the
 * view and compacted away in the store, in the background.
 */
import type { Store } from '../store/store.ts';
import type { View } from './view.ts';

export interface HistoryBounds {
  /** Older changes are forgotten; a watch that asks for them gets 410. */
  readonly ageMaxMs: number;
  /** More changes than this are not kept. */
  readonly changesMax: number;
}

/** Ten minutes is twice what clients take to come back; 50,000 changes of 1.5 KB are some 75 MB. */
export const defaultHistory: HistoryBounds = { ageMaxMs: 10 * 60_000, changesMax: 50_000 };

const intervalMs = 1_000;

export class History {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  constructor(
    private readonly store: Store,
    private readonly view: View,
    private readonly bounds: HistoryBounds,
    private readonly nowMs: () => number,
    private readonly onError: (error: Error) => void,
  ) {
    this.#timer = setInterval(() => this.trim(), intervalMs);
    this.#timer.unref();
  }

  /** Forgets what is over the bounds; at most one such pass runs at a time. */
  trim(): Promise<void> {
    this.#running ??= this.#trim().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #trim(): Promise<void> {
    const revision = this.view.revisionToForget(this.nowMs() - this.bounds.ageMaxMs, this.bounds.changesMax);
    if (revision === undefined) return;
    this.view.forget(revision);
    try {
      await this.store.compact(revision);
    } catch (error) {
      this.onError(error as Error);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
