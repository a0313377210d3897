/**
 * Watchers: one reader of a collection's changes.
 *
 *   state ──► events ──► (waiting for the next change) ──► closed
 *     │          │
 *     └──────────┴── paused: the sink is full; resume() goes on where it stopped
 *
 * It sends the objects of its initial state, if any, then every event from a position on. The position stays in the
 * collection's window; when history has moved past it, the watcher ends as expired. When the collection is closed, it
 * ends with the last event.
 */
import type { Collection } from './collection.ts';
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { Notice } from './watch-event.ts';

/** Notices sent per event loop tick. */
const sliceMax = 500;
/** Bytes of documents sent per tick, unless the sink sets its own bound. */
const sliceBytesDefault = 1024 * 1024;

export interface WatchSink {
  /** May be notified in rounds (`watch-rounds.ts`), with several changes at once, instead of at each change. */
  readonly patient?: boolean;
  /** Bytes sent at once: bounds what is buffered for a client that does not read to this and one object. */
  readonly sliceBytesMax?: number;
  /** Sends notices; returns false to apply back-pressure until resume(). */
  send(notices: readonly Notice[]): boolean;
  /** The initial state has been sent. */
  stateSent(): void;
  /** History has moved past this watcher; the watcher is closed. */
  expired(): void;
  /** The kind is no longer served; the watcher is closed. */
  ended?(): void;
  /**
   * A notice could not be encoded or sent; the watcher is closed. Without this method the error is thrown to the
   * collection.
   */
  failed?(error: unknown): void;
}

export interface WatchStart {
  /** Objects to send as ADDED before any event. */
  readonly state: readonly Entry[] | undefined;
  /** Number of the first event to send. */
  readonly position: number;
  /** Events up to this revision are skipped: a watch may begin at a version that the view has not reached. */
  readonly after?: number;
}

export class Watcher {
  #state: readonly Entry[] | undefined;
  #stateIndex = 0;
  #position: number;
  readonly after: number;
  #paused = false;
  #closed = false;
  #pumping = false;
  #scheduled = false;
  readonly #sink: WatchSink;
  readonly #sliceBytesMax: number;

  constructor(
    private readonly collection: Collection,
    private readonly filter: Filter,
    start: WatchStart,
    sink: WatchSink,
  ) {
    this.#state = start.state;
    this.#position = start.position;
    this.after = start.after ?? 0;
    this.#sink = sink;
    this.#sliceBytesMax = sink.sliceBytesMax ?? sliceBytesDefault;
    collection.add(this);
  }

  get patient(): boolean {
    return this.#sink.patient === true;
  }

  /** Whether all events so far have been sent. */
  get caughtUp(): boolean {
    return this.#state === undefined && this.#position >= this.collection.endNumber;
  }

  resume(): void {
    this.#paused = false;
    this.pump();
  }

  close(): void {
    this.#closed = true;
    this.collection.remove(this);
  }

  /** Closes the watcher, and tells its sink that the client has to list again. */
  expire(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.expired();
  }

  /** The collection is closed. Sends the remaining events, unless the sink is full, and ends. */
  finish(): void {
    this.pump();
    if (this.#paused) this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.ended?.();
  }

  /** Sends pending events until the sink is full. */
  pump(): void {
    if (this.#pumping || this.#closed || this.#scheduled) return;
    if (this.#paused) return void this.#expireIfPassed();
    this.#pumping = true;
    try {
      if (this.#state) this.#pumpState();
      if (!this.#state) this.#pumpEvents();
      if (this.collection.isClosed && this.caughtUp) this.#end();
    } catch (error) {
      this.close();
      if (!this.#sink.failed) throw error;
      this.#sink.failed(error);
    } finally {
      this.#pumping = false;
    }
  }

  #pumpState(): void {
    while (!this.#paused && !this.#closed && !this.#scheduled) {
      const state = this.#state!;
      const end = Math.min(state.length, this.#stateIndex + sliceMax);
      const notices: Notice[] = [];
      for (let bytes = 0; this.#stateIndex < end && bytes < this.#sliceBytesMax; this.#stateIndex++) {
        const entry = state[this.#stateIndex]!;
        notices.push(new Notice('ADDED', entry, undefined));
        bytes += entry.length;
      }
      if (notices.length) this.#send(notices);
      if (this.#stateIndex >= state.length) {
        this.#state = undefined;
        if (!this.#closed) this.#sink.stateSent();
        return;
      }
      this.#goOnLater();
    }
  }

  #pumpEvents(): void {
    while (!this.#paused && !this.#closed && !this.#scheduled && this.#position < this.collection.endNumber) {
      if (this.#expireIfPassed()) return;
      const end = Math.min(this.collection.endNumber, this.#position + sliceMax);
      const notices: Notice[] = [];
      for (let bytes = 0; this.#position < end && bytes < this.#sliceBytesMax; this.#position++) {
        const found = this.collection.event(this.#position)!;
        // Before its states are read, which may be on disk.
        if (!this.filter.covers(found.namespace, found.name)) continue;
        const event = found.loaded;
        const preparing = this.filter.prepared([event.entry, event.previous]);
        if (preparing) {
          this.#goOnAfter(preparing);
          break;
        }
        const notice = event.revision > this.after ? event.seenThrough(this.filter) : undefined;
        if (!notice) continue;
        notices.push(notice);
        bytes += notice.length;
      }
      if (notices.length) this.#send(notices);
      if (this.#position < this.collection.endNumber && !this.#scheduled) this.#goOnLater();
    }
  }

  /** Continues when a webhook has converted the objects that the filter needs. */
  #goOnAfter(preparing: Promise<void>): void {
    this.#scheduled = true;
    preparing.then(
      () => {
        this.#scheduled = false;
        this.pump();
      },
      (error) => {
        if (this.#closed) return;
        this.close();
        this.#sink.failed?.(error);
      },
    );
  }

  /**
   * Ends a watcher that history has moved past. Checked here, as a client that never reads would keep it open for
   * ever.
   */
  #expireIfPassed(): boolean {
    if (this.#position >= this.collection.startNumber) return false;
    this.expire();
    return true;
  }

  #send(notices: Notice[]): void {
    if (!this.#sink.send(notices)) this.#paused = true;
  }

  #goOnLater(): void {
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.pump();
    });
  }
}
