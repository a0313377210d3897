/**
 * The change feed: brings every subscription from where it starts in history to the present, and keeps it there.
 *
 * A subscription is in one of three states:
 *   catching up  it reads history in slices, giving way to other work in between   → live, ended
 *   live         `publish` calls its listener in the same turn a commit is known   → ended
 *   ended        closed, broken, or its listener threw; nothing is called any more
 * It turns live in the tick in which it has read all of history. `publish` runs in the same tick in which the
 * revision moves, so no change is missed between the two, and none is seen twice.
 */
import { damaged, type Engine, readVersion, SLICE_MS } from './engine.ts';
import { type Change, CompactedError, type Subscription, storeClosed } from './store.ts';

type ChangeListener = (changes: readonly Change[]) => void;

/** Most changes read from history per call of a listener; a commit is never split. */
const SLICE_CHANGES = 500;

export interface FeedOptions {
  readonly engine: Engine;
  /** The newest published revision. */
  readonly revision: () => number;
  readonly compacted: () => number;
}

export class Feed {
  readonly #engine: Engine;
  readonly #revision: () => number;
  readonly #compacted: () => number;
  readonly #live = new Set<FeedSubscription>();
  readonly #catchingUp = new Set<FeedSubscription>();
  #closed = false;

  constructor({ engine, revision, compacted }: FeedOptions) {
    this.#engine = engine;
    this.#revision = revision;
    this.#compacted = compacted;
  }

  watch(after: number, listener: ChangeListener): Subscription {
    const watcher = new FeedSubscription(after, listener, this.#leave);
    if (this.#closed) watcher.end(storeClosed());
    else if (after < this.#compacted()) watcher.end(new CompactedError(after, this.#compacted()));
    else if (after >= this.#revision()) this.#live.add(watcher);
    else {
      this.#catchingUp.add(watcher);
      setImmediate(this.#catchUp, watcher);
    }
    return watcher;
  }

  publish(changes: readonly Change[]): void {
    for (const watcher of this.#live) watcher.call(changes);
  }

  /** Whether a subscription still has to read history at or before this revision. */
  needs(revision: number): boolean {
    for (const { position } of this.#catchingUp) if (position < revision) return true;
    return false;
  }

  close(): void {
    this.#closed = true;
    const error = storeClosed();
    for (const watcher of [...this.#live, ...this.#catchingUp]) watcher.end(error);
  }

  readonly #leave = (watcher: FeedSubscription): void => {
    this.#live.delete(watcher);
    this.#catchingUp.delete(watcher);
  };

  readonly #catchUp = (watcher: FeedSubscription): void => {
    const deadlineMs = performance.now() + SLICE_MS;
    try {
      while (!watcher.isOver && watcher.position < this.#revision()) {
        if (performance.now() > deadlineMs) {
          setImmediate(this.#catchUp, watcher);
          return;
        }
        watcher.call(this.#history(watcher.position));
      }
    } catch (error) {
      watcher.end(error);
    }
    if (watcher.isOver) return;
    this.#catchingUp.delete(watcher);
    this.#live.add(watcher);
  };

  /** The changes after a revision: whole commits, up to the limit. */
  #history(after: number): Change[] {
    const changes: Change[] = [];
    const newest = this.#revision();
    for (let revision = after + 1; revision <= newest; revision++) {
      const version = readVersion(this.#engine, revision);
      // Checked once, when history is read: a key with a wrong head could never be written again.
      if (this.#engine.head(version.key) < revision)
        throw damaged(`a key does not know revision ${revision}`);
      const { key, timeMs, value } = version;
      changes.push({ key, revision, timeMs, value });
      if (version.endsCommit && changes.length >= SLICE_CHANGES) break;
    }
    return changes;
  }
}

export class FeedSubscription implements Subscription {
  /** All changes up to this revision were delivered. */
  position: number;
  isOver = false;
  readonly ended: Promise<void>;
  readonly #listener: ChangeListener;
  readonly #leave: (watcher: FeedSubscription) => void;
  readonly #passed: ((revision: number) => void) | undefined;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;

  constructor(
    after: number,
    listener: ChangeListener,
    leave: (watcher: FeedSubscription) => void,
    passed?: (revision: number) => void,
  ) {
    this.#passed = passed;
    this.position = after;
    this.#listener = listener;
    this.#leave = leave;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Avoids an unhandled rejection when a caller does not use `ended`.
    this.ended.catch(() => {});
  }

  call(changes: readonly Change[]): void {
    const last = changes.at(-1)!.revision;
    if (this.isOver || last <= this.position) return;
    // When a watch starts at a future revision, a commit may hold changes from before and after it.
    const wanted =
      changes[0]!.revision > this.position
        ? changes
        : changes.filter(({ revision }) => revision > this.position);
    this.position = last;
    try {
      this.#listener(wanted);
    } catch (error) {
      this.end(error);
    }
  }

  /** Reports that there is no further change up to a revision. */
  pass(revision: number): void {
    if (this.isOver || revision <= this.position) return;
    this.position = revision;
    try {
      this.#passed?.(revision);
    } catch (error) {
      this.end(error);
    }
  }

  close(): void {
    this.end();
  }

  end(error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#leave(this);
    if (error === undefined) this.#resolve();
    else this.#reject(error);
  }
}
