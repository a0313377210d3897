/**
 * Followers: something worked out from each object of a collection, brought up to date when it is asked for.
 *
 * A follower is a position in the collection's window of changes, like a watcher, but nobody calls it: it costs
 * nothing while nobody asks. It looks up which objects have changed and reads their current state, each once. When
 * the window has moved past its position, or at the first time, it reads everything.
 */
import type { Collection } from './collection.ts';
import type { Entry } from './entry.ts';
import { Filter } from './filter.ts';
import { memberKey } from './key.ts';

const everything = new Filter(undefined, undefined, undefined, undefined);

export interface Following<T> {
  /** What an object is worth; it is compared with nothing, only handed back when it no longer holds. */
  read(entry: Entry): T;
  gained(value: T): void;
  lost(value: T): void;
}

export class Follower<T> {
  readonly #values = new Map<string, T>();
  /** Number of the first change that has not been looked at. */
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
