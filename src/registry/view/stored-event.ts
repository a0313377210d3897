/**
 * Events of a long history: the states before and after a change are read from the store when they are asked for. A change
 * then takes some hundred bytes of memory instead of two objects, so that a recording of a day fits.
 */
import type { Kind } from '../../api/kind/kind.ts';
import { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { type Notice, WatchEvent } from './watch-event.ts';

/** The value that a write put; undefined when history does not reach back to it any more. */
export type ReadPast = (revision: number) => Buffer | undefined;

/** How many of the newest events of a collection keep their states in memory: watchers are sent these. */
export const loadedEventsMax = 200;

export class StoredEvent extends WatchEvent {
  readonly #namespace: string;
  readonly #name: string;
  readonly #isDeletion: boolean;
  /** Revision of the state before; 0 for an object that was created. */
  readonly #before: number;
  #kind: Kind;

  constructor(
    event: WatchEvent,
    private readonly read: ReadPast,
  ) {
    super(event.revision, event.timeMs, undefined, undefined);
    const { entry, previous } = event;
    this.#namespace = event.namespace;
    this.#name = event.name;
    this.#isDeletion = entry === undefined;
    this.#before = previous?.revision ?? 0;
    this.#kind = (entry ?? previous!).kind;
  }

  override get entry(): Entry | undefined {
    return this.#isDeletion ? undefined : this.#at(this.revision);
  }

  override get previous(): Entry | undefined {
    return this.#before === 0 ? undefined : this.#at(this.#before);
  }

  override get loaded(): WatchEvent {
    return new WatchEvent(this.revision, this.timeMs, this.entry, this.previous);
  }

  override get namespace(): string {
    return this.#namespace;
  }

  override get name(): string {
    return this.#name;
  }

  override seenThrough(filter: Filter): Notice | undefined {
    return filter.covers(this.#namespace, this.#name) ? this.loaded.seenThrough(filter) : undefined;
  }

  override reread(kind: Kind): void {
    this.#kind = kind;
  }

  #at(revision: number): Entry {
    const value = this.read(revision);
    if (!value) throw new Error(`history has lost revision ${revision}`);
    return Entry.found(this.#kind, this.#namespace, this.#name, value, revision);
  }
}
