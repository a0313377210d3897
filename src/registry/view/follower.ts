/**
 * Followers: a value derived from each object of a collection, brought up to date on demand.
 *
 * A follower is a position in the collection's window of changes, like a watcher, but is not notified: it costs
 * nothing until its value is needed. It then reads the current state of each object that has changed, once. When the
 * window has moved past its position, or the first time, it reads all objects.
 */
import type { Collection } from './collection.ts';
import type { Entry } from './entry.ts';
import { everything } from './filter.ts';
import { memberKey } from './key.ts';

export interface Following<T> {
  /**
   * Derives the value of an object. The follower passes it to `gained`, and to `lost` when the object changes or
   * goes.
   */
  read(entry: Entry): T;
  gained(value: T): void;
  lost(value: T): void;
}

export class Follower<T> {
  readonly #values = new Map<string, T>();
  /** Number of the first change not yet processed. */
  #position: number | undefined;

  constructor(
    private readonly collection: Collection,
    private readonly following: Following<T>,
  ) {}

  catchUp(): void {
    const { collection } = this;
    const position = this.#position;
    this.#position = collection.endNumber;
    if (position === undefined || position < collection.startNumber) return this.#reload();
    const changed = new Map<string, { namespace: string; name: string }>();
    for (let number = position; number < collection.endNumber; number++) {
      const event = collection.event(number)!;
      changed.set(memberKey(event.namespace, event.name), event);
    }
    for (const [key, { namespace, name }] of changed) this.#settle(key, collection.get(namespace, name));
  }

  #reload(): void {
    for (const key of [...this.#values.keys()]) this.#settle(key, undefined);
    for (const entry of this.collection.select(everything).entries)
      this.#settle(memberKey(entry.namespace, entry.name), entry);
  }

  #settle(key: string, entry: Entry | undefined): void {
    const old = this.#values.get(key);
    if (old !== undefined) this.following.lost(old);
    if (!entry) {
      this.#values.delete(key);
      return;
    }
    const value = this.following.read(entry);
    this.#values.set(key, value);
    this.following.gained(value);
  }
}
