/**
 * Feed recovery: keeps a view following its store, also when the feed of changes breaks.
 *
 *   following ──feed breaks──▶ waiting ──back-off is over──▶ attempting ──view has caught up──▶ following
 *                                 ▲                              │
 *                                 └───────── it failed ──────────┘
 *   waiting, attempting ──outage is too long, or the store is gone for good──▶ lost
 *   any ──close()──▶ closed
 *
 * An attempt continues after the newest revision that the view has seen. When the store has compacted that revision,
 * or a change may have been applied in part, the attempt first compares all stored objects with the view and applies
 * the differences as changes.
 */
import {
  type Change,
  CompactedError,
  type Store,
  type Stored,
  StoreUnavailableError,
  type Subscription,
} from '../../store/store.ts';
import type { Entry } from './entry.ts';

const comparePageSize = 1000;

export interface RecoveryTimes {
  /** The first attempt is immediate; the next waits this long, and the wait doubles with each attempt. */
  readonly retryFirstMs: number;
  readonly retryMaxMs: number;
  /** The feed is given up when the view has not caught up within this time. */
  readonly outageMaxMs: number;
}

const defaultRecovery: RecoveryTimes = {
  retryFirstMs: 50,
  retryMaxMs: 5_000,
  outageMaxMs: 60_000,
};

/** The operations on a view that the recovery uses. */
export interface FedView {
  /** The newest revision seen. */
  readonly revision: number;
  /** Resolves when the view has reached a revision. */
  reached(revision: number): Promise<void>;
  /** Applies changes, in order. */
  take(changes: readonly Change[]): void;
  /** Called when there is no further change up to a revision. */
  passed(revision: number): void;
  /** All objects in the view, by store key. */
  held(): Iterable<readonly [key: string, entry: Entry]>;
  /** Called before the view is brought to a newer revision by comparison, without knowing all changes in between. */
  skipping(to: number): void;
  /** Called after that. */
  skipped(to: number): void;
  /** Called when the feed is lost for good, and the view is stale. */
  lost(error: StoreUnavailableError): void;
}

export interface RecoveryOptions {
  readonly times?: Partial<RecoveryTimes>;
  /** Called each time the feed breaks, and for each failed attempt. */
  readonly onError?: (error: Error) => void;
}

export class FeedRecovery {
  readonly #times: RecoveryTimes;
  readonly #onError: (error: Error) => void;
  #subscription: Subscription | undefined;
  /**
   * Whether a change may have been applied only in part; then view and store are compared before the feed continues.
   */
  #doubtful = false;
  #waitMs = 0;
  #followsSinceMs = 0;
  /** Whether the feed is closed or lost. */
  #over = false;
  #deadline: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Store,
    private readonly view: FedView,
    { times, onError }: RecoveryOptions = {},
  ) {
    this.#times = { ...defaultRecovery, ...times };
    this.#onError = onError ?? (() => undefined);
  }

  /**
   * Subscribes to the store from the view's revision on. Resolves when the view has caught up; rejects when that
   * fails.
   */
  async start(): Promise<void> {
    const subscription = await this.#follow();
    clearTimeout(this.#deadline);
    this.#followsSinceMs = performance.now();
    subscription.ended.catch((error: Error) => this.#recover(error));
  }

  close(): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#pause);
    this.#subscription?.close();
  }

  async #follow(): Promise<Subscription> {
    const subscription = this.store.watch(
      this.view.revision,
      (changes) => this.#take(changes),
      (revision) => this.view.passed(revision),
    );
    this.#subscription = subscription;
    try {
      const newest = await this.store.revision();
      await Promise.race([this.view.reached(newest), subscription.ended]);
    } catch (error) {
      subscription.close();
      throw error;
    }
    return subscription;
  }

  #take(changes: readonly Change[]): void {
    try {
      this.view.take(changes);
    } catch (error) {
      this.#doubtful = true;
      throw error;
    }
  }

  #recover(problem: Error): void {
    if (this.#over) return;
    const { outageMaxMs, retryMaxMs } = this.#times;
    // Back off also when a feed breaks again shortly after it was restored.
    if (performance.now() - this.#followsSinceMs > retryMaxMs) this.#waitMs = 0;
    let newest = problem;
    this.#deadline = setTimeout(() => this.#lose(newest), outageMaxMs);
    const retry = (error: Error): void => {
      newest = error;
      if (this.#over) return;
      if (error instanceof CompactedError) this.#doubtful = true;
      if (error instanceof StoreUnavailableError && error.permanent) return this.#lose(error);
      this.#onError(
        new Error(`the feed of changes broke after revision ${this.view.revision}: ${error.message}`, {
          cause: error,
        }),
      );
      this.#pause = setTimeout(attempt, this.#waitMs);
      this.#waitMs = Math.min(Math.max(this.#waitMs * 2, this.#times.retryFirstMs), retryMaxMs);
    };
    const attempt = (): void => void this.#attempt().catch(retry);
    retry(problem);
  }

  async #attempt(): Promise<void> {
    const newest = await this.store.revision();
    if (newest < this.view.revision)
      throw new StoreUnavailableError(
        `the store has gone back to revision ${newest}, and revision ${this.view.revision} was seen already`,
        { permanent: true },
      );
    if (this.#over) return;
    if (this.#doubtful || this.view.revision < this.store.compacted) await this.#compare();
    if (!this.#over) await this.start();
  }

  /**
   * Brings the view to a newer state by comparison. Of an object that changed several times only the newest state is
   * known, under its own revision. The revision of a deletion is not known, so deletions come first, under the
   * earliest possible revision: a client that has seen any of the changes has seen all deletions before it.
   */
  async #compare(): Promise<void> {
    const before = this.view.revision;
    const unseen = new Map(this.view.held());
    const changed: Stored[] = [];
    const replaced: string[] = [];
    // If the view is older than the oldest readable state, start from that state: the feed then delivers what came
    // after it.
    let revision = before < this.store.compacted ? this.store.compacted : undefined;
    for (let start: string | undefined = ''; start !== undefined; ) {
      const query = { start, limit: comparePageSize };
      const page = await this.store.range(revision === undefined ? query : { ...query, revision });
      if (this.#over) return;
      revision ??= page.revision;
      for (const item of page.items) {
        const entry = unseen.get(item.key);
        unseen.delete(item.key);
        if (entry?.revision === item.revision) continue;
        changed.push(item);
        if (entry && entry.peek().metadata.uid !== uidOf(item)) replaced.push(item.key);
      }
      start = page.more ? `${page.items.at(-1)!.key}\u0000` : undefined;
    }
    const shown = revision!;
    const deletedAt = Math.min(before + 1, shown);
    const deletions = [...unseen.keys(), ...replaced].map((key) => ({
      key,
      revision: deletedAt,
      value: null,
    }));
    changed.sort((a, b) => a.revision - b.revision);
    // The real times of the changes are not known; the view uses times only to expire history.
    const changes = [...deletions, ...changed].map((change) => ({ ...change, timeMs: 0 }));
    this.view.skipping(shown);
    if (changes.length) this.view.take(changes);
    this.view.skipped(shown);
    this.#doubtful = false;
  }

  #lose(cause: Error): void {
    if (this.#over) return;
    this.close();
    const permanent = true;
    const message = `the server no longer knows what its store holds: ${cause.message}`;
    this.view.lost(new StoreUnavailableError(message, { cause, permanent }));
  }
}

const uidOf = ({ value }: Stored): string | undefined =>
  (JSON.parse(value.toString('utf8')) as { metadata?: { uid?: string } }).metadata?.uid;
