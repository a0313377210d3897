/**
 * The feed of changes from etcd. One watch of everything under the prefix feeds all live subscriptions. A subscription
 * that begins earlier has a watch of its own until it has caught up; both watch the same keys, so it joins the shared
 * watch in the tick in which it has seen the newest event of that watch.
 *
 * Revisions without a change of an object (another program's, or a server's bookkeeping) are reported as `passed`.
 */
import { FeedSubscription } from '../feed.ts';
import { type Change, CompactedError, type Subscription, storeClosed } from '../store.ts';
import { ChangeReader, type ReadChanges } from './change-reader.ts';
import type { Keyspace } from './keyspace.ts';
import type { Members } from './members.ts';
import type { EtcdEvent } from './messages.ts';
import { RangeWatch } from './range-watch.ts';

export interface EtcdFeedOptions {
  readonly members: Members;
  readonly keyspace: Keyspace;
  readonly now: () => number;
  /** The revision to start from: etcd has an event of this revision, or has compacted everything up to it. */
  readonly position: number;
  /** Called for each change that carries a mark, after it was published. */
  readonly onMark: (mark: string, revision: number) => void;
  /** Called when a server has come, gone or written its key. */
  readonly onServers: () => void;
  readonly compacted: () => number;
  /** Called when etcd says how far it has compacted. */
  readonly onCompacted: (revision: number) => void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class EtcdFeed {
  readonly #options: EtcdFeedOptions;
  readonly #reader: ChangeReader;
  readonly #live = new Set<FeedSubscription>();
  readonly #catchingUp = new Map<FeedSubscription, RangeWatch>();
  #watch: RangeWatch;
  #position: number;
  #waiters: Waiter[] = [];
  #failure: Error | undefined;
  /** How often changes were missed because etcd had compacted them. */
  #gaps = 0;

  constructor(options: EtcdFeedOptions) {
    this.#options = options;
    this.#position = options.position;
    this.#reader = new ChangeReader(options.keyspace, options.now);
    this.#watch = this.#follow();
  }

  /** All changes up to this revision are published. */
  get position(): number {
    return this.#position;
  }

  get gaps(): number {
    return this.#gaps;
  }

  /** Whether a subscription still has to read history at or before this revision. */
  needs(revision: number): boolean {
    for (const { position } of this.#catchingUp.keys()) if (position < revision) return true;
    return false;
  }

  /** Resolves when all changes up to a revision are published. */
  reached(revision: number): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (revision <= this.#position) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ revision, resolve, reject }));
  }

  watch(
    after: number,
    listener: (changes: readonly Change[]) => void,
    passed?: (revision: number) => void,
  ): Subscription {
    const subscription = new FeedSubscription(after, listener, this.#leave, passed);
    if (this.#failure) subscription.end(this.#failure);
    else if (after < this.#options.compacted())
      subscription.end(new CompactedError(after, this.#options.compacted()));
    else if (after >= this.#position) this.#live.add(subscription);
    else this.#catchUp(subscription);
    return subscription;
  }

  /**
   * Called when the feed missed a change: ends all live subscriptions with CompactedError, so that subscribers read
   * what is stored and begin anew.
   */
  distrust(): void {
    this.#gaps++;
    const error = new CompactedError(this.#position, this.#position);
    for (const subscription of [...this.#live]) subscription.end(error);
  }

  /** Ends the feed and all its subscriptions. */
  fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#watch.close();
    for (const subscription of [...this.#live, ...this.#catchingUp.keys()]) subscription.end(error);
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  close(): void {
    this.fail(storeClosed());
  }

  readonly #leave = (subscription: FeedSubscription): void => {
    this.#live.delete(subscription);
    this.#catchingUp.get(subscription)?.close();
    this.#catchingUp.delete(subscription);
  };

  #follow(): RangeWatch {
    return this.#rangeWatch(this.#position, {
      onEvents: (events) => this.#publish(this.#reader.read(events)),
      onCompacted: (revision) => this.#skip(revision),
      onFailed: (error) => this.fail(error),
    });
  }

  #rangeWatch(
    after: number,
    on: Pick<RangeWatchOptions, 'onEvents' | 'onCompacted' | 'onFailed'>,
  ): RangeWatch {
    const { members, keyspace } = this.#options;
    return new RangeWatch({ members, start: keyspace.start, end: keyspace.end, after, ...on });
  }

  #publish(read: ReadChanges): void {
    this.#position = read.last;
    for (const subscription of this.#live) deliver(subscription, read);
    for (const [i, mark] of read.marks.entries())
      if (mark !== undefined) this.#options.onMark(mark, read.changes[i]!.revision);
    this.#wake();
    if (read.servers) this.#options.onServers();
  }

  /** Moves on to a revision up to which etcd has compacted; subscriptions that would miss changes end. */
  #skip(revision: number): void {
    this.#options.onCompacted(revision);
    const error = new CompactedError(this.#position, revision);
    this.#gaps++;
    this.#position = Math.max(this.#position, revision);
    for (const subscription of [...this.#live]) subscription.end(error);
    this.#watch = this.#follow();
    this.#wake();
  }

  #catchUp(subscription: FeedSubscription): void {
    const reader = new ChangeReader(this.#options.keyspace, this.#options.now);
    const watch = this.#rangeWatch(subscription.position, {
      onEvents: (events: readonly EtcdEvent[]) => {
        deliver(subscription, reader.read(events));
        if (subscription.isOver || watch.position < this.#position) return;
        this.#leave(subscription);
        this.#live.add(subscription);
      },
      onCompacted: (revision) => {
        this.#options.onCompacted(revision);
        subscription.end(new CompactedError(subscription.position, revision));
      },
      onFailed: (error) => subscription.end(error),
    });
    this.#catchingUp.set(subscription, watch);
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const waiting: Waiter[] = [];
    for (const waiter of this.#waiters)
      if (waiter.revision <= this.#position) waiter.resolve();
      else waiting.push(waiter);
    this.#waiters = waiting;
  }
}

type RangeWatchOptions = ConstructorParameters<typeof RangeWatch>[0];

function deliver(subscription: FeedSubscription, { changes, last }: ReadChanges): void {
  if (changes.length > 0) subscription.call(changes);
  subscription.pass(last);
}
