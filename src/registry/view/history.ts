/**
 * History: how many past changes are kept. Changes that are too old, or beyond a number, are dropped from the view
 * and compacted in the store, in the background.
 */
import type { Store } from '../../store/store.ts';
import { systemTimers, type Timer, type Timers } from '../../timers.ts';
import type { View } from './view.ts';

export interface HistoryBounds {
  /** Age at which changes are dropped; a watch that begins before them gets 410. */
  readonly ageMaxMs: number;
  /** Number of changes that are kept. */
  readonly changesMax: number;
  /** About as many bytes as they may take on disk. Default: any. */
  readonly bytesMax?: number;
}

/** Clients resume a watch within about five minutes; twice that is kept. 50,000 changes of 1.5 KB take some 75 MB. */
export const defaultHistory: HistoryBounds = { ageMaxMs: 10 * 60_000, changesMax: 50_000 };

const intervalMs = 1_000;
/** Compaction interval of a store with several servers: longer, because compaction is work for all of them. */
const sharedCompactionMs = 60_000;

export class History {
  readonly #timer: Timer;
  #running: Promise<void> | undefined;
  #compactedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly store: Store,
    private readonly view: View,
    private readonly bounds: HistoryBounds,
    private readonly nowMs: () => number,
    private readonly onError: (error: Error) => void,
    private readonly isShared = false,
    private readonly timers: Timers = systemTimers,
  ) {
    this.#timer = timers.repeat(() => this.trim(), intervalMs);
    this.#timer.unref();
  }

  /** Drops changes over the bounds; runs at most once at a time. */
  trim(): Promise<void> {
    this.#running ??= this.#trim().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #trim(): Promise<void> {
    const { ageMaxMs, changesMax, bytesMax } = this.bounds;
    const revision = this.view.revisionToForget(this.nowMs() - ageMaxMs, changesMax, bytesMax);
    if (revision === undefined) return;
    this.view.forget(revision);
    const nowMs = performance.now();
    if (this.isShared && nowMs - this.#compactedMs < sharedCompactionMs) return;
    this.#compactedMs = nowMs;
    try {
      await this.store.compact(revision);
    } catch (error) {
      this.onError(error as Error);
    }
  }

  async close(): Promise<void> {
    this.timers.clear(this.#timer);
    await this.#running;
  }
}
