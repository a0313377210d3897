/**
 * Watchers: one reader of a collection's changes.
 *
 *   state ──► events ──► (waiting for the next change) ──► closed
 *     │          │
 *     └──────────┴── paused: the sink is full; resume() goes on where it stopped
 *
 * First the objects of the state it begins with, if any, then every event from a position on. The position stays
 * in the collection's window; when history has moved past it, the watcher ends as expired. When the collection is
 * closed, it ends with the last event.
 */
import type { Collection } from './collection.ts';
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { Notice } from './watchevent.ts';

/** Notices handed over in one go before other work gets a turn. */
const sliceMax = 500;
/** Bytes of documents handed over in one go, unless the sink says otherwise. */
const sliceBytesDefault = 1024 * 1024;

export interface WatchSink {
  /** May be told of changes in a moment, of all together that there are until then. */
  readonly patient?: boolean;
  /** Bytes to be handed over in one go; a watcher that does not read holds no more than this and one object. */
  readonly sliceBytesMax?: number;
  /** Takes notices; false means: no more until resume(). */
  send(notices: readonly Notice[]): boolean;
  /** The state the watch began with has been handed over. */
  stateSent(): void;
  /** History has moved past this watcher; it is closed. */
  expired(): void;
  /** The collection is closed, because its kind is not served any more; the watcher is closed, too. */
  ended?(): void;
  /** A notice could not be made or taken; the watcher is closed. Without this the failure is its collection's. */
  failed?(error: unknown): void;
}

export interface WatchStart {
  /** Objects to tell of as ADDED before any event. */
  readonly state: readonly Entry[] | undefined;
  /** Number of the first event to tell of. */
  readonly position: number;
  /** Events up to this revision are not told of: a watch may begin at a version that is still to come. */
  readonly after?: number;
}

export class Watcher {
  #state: readonly Entry[] | undefined;
  #stateIndex = 0;
  #position: number;
  /** Events up to this revision are not told of. */
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

  /** Whether everything that has happened has been handed over. */
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

  /** Closes it, and lets its sink know that it has to begin anew. */
  expire(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.expired();
  }

  /** The collection is closed. A sink that takes everything gets the rest; nobody waits for one that is full. */
  finish(): void {
    this.pump();
    if (this.#paused) this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.close();
    this.#sink.ended?.();
  }

  /** Hands over what there is, as far as the sink takes it. */
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
        const event = this.collection.event(this.#position)!;
        const notice = event.revision > this.after ? event.seenThrough(this.filter) : undefined;
        if (!notice) continue;
        notices.push(notice);
        bytes += notice.length;
      }
      if (notices.length) this.#send(notices);
      if (this.#position < this.collection.endNumber) this.#goOnLater();
    }
  }

  /** A watcher whose client does not read at all would otherwise stay for as long as it likes. */
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
