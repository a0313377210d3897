/**
 * Collections: all objects of one resource in key order, the recent changes to them, and their watchers.
 *
 * The changes are a window over history, numbered from the first change ever seen here. A watcher is a position in
 * that window, so watchers need no queues of their own: a slow watcher falls behind in the window, and one that falls
 * out of it ends as expired.
 */

import type { Kind } from '../../api/kind/kind.ts';
import { composedKey } from '../../composed-key.ts';
import { compareKeys } from '../../store/sorted-map.ts';
import { inSlices } from '../../time-slices.ts';
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { memberKey } from './key.ts';
import { Members } from './members.ts';
import { Page, RecentPages } from './page.ts';
import { loadedEventsMax, type ReadPast, StoredEvent } from './stored-event.ts';
import type { WatchEvent } from './watch-event.ts';
import { isToldInRounds, WatchRounds } from './watch-rounds.ts';
import type { Watcher } from './watcher.ts';

const nothing = new Page([], undefined, undefined);

/** Objects with so many bytes together are parsed for a selector in one turn of the event loop; more in several. */
const unreadBytesMax = 128 * 1024;

export interface PageQuery {
  readonly start?: string | undefined;
  readonly limit?: number | undefined;
  /** State at this revision; undefined is now. */
  readonly revision?: number | undefined;
}

export class Collection {
  readonly #members = new Members();
  /** Number of the first event in the window. */
  #firstNumber = 0;
  #events: WatchEvent[] = [];
  /** Watchers that are notified of every change at once; the others are in `#rounds`. */
  readonly #watchers = new Set<Watcher>();
  readonly #rounds = new WatchRounds((from, to) => this.#forgetNotices(from, to));
  readonly #pages = new RecentPages();
  /** Namespaces, undefined for all of them, whose objects were parsed for selectors, but for few bytes. */
  readonly #read = new Set<string | undefined>();
  /** Bytes of objects that have come since the oldest of these was read. */
  #unreadBytes = 0;
  #since: number;
  #isClosed = false;

  /**
   * @param since the revision of the state that is loaded first. Later changes are kept in the window.
   * @param past reads older states of the window from the store; undefined: all are in memory
   */
  constructor(
    since = 0,
    private readonly past?: ReadPast | undefined,
  ) {
    this.#since = since;
  }

  /** The state at this revision and all changes after it are known. */
  get since(): number {
    return this.#since;
  }

  get size(): number {
    return this.#members.size;
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#members.get(namespace, name);
  }

  /** Adds an object to the state that history begins with. */
  load(entry: Entry): void {
    this.#pages.clear();
    this.#members.set(entry);
  }

  /** Replaces the kind of all objects and changes, so that they are parsed with its model from now on. */
  reread(kind: Kind): void {
    this.#pages.clear();
    this.#members.walk(undefined, '', (entry) => {
      entry.reread(kind);
      return true;
    });
    this.#read.clear();
    for (const event of this.#events) event.reread(kind);
  }

  apply(event: WatchEvent): void {
    this.#pages.clear();
    if (event.entry) {
      this.#members.set(event.entry);
      this.#noteUnread(event.entry);
    } else this.#members.delete(event.namespace, event.name);
    this.#events.push(event);
    const old = this.#events.length - 1 - loadedEventsMax;
    if (this.past && old >= 0) this.#events[old] = new StoredEvent(this.#events[old]!, this.past);
  }

  /** Makes objects ready for `select`; undefined when they are. */
  prepared(filter: Filter, revision?: number): Promise<void> | undefined {
    if (filter.as?.conversion)
      return filter.prepared(this.select(filter.withoutFields, { revision }).entries);
    const { namespace, name } = filter;
    if (!filter.selective || revision !== undefined || this.#read.has(namespace)) return undefined;
    return namespace !== undefined && name !== undefined ? undefined : this.#readAhead(namespace);
  }

  /** Parses the objects that no selector has read yet, in turns when they are large together. */
  #readAhead(namespace: string | undefined): Promise<void> | undefined {
    if (this.#read.size === 0) this.#unreadBytes = 0;
    this.#read.add(namespace);
    const unread: Entry[] = [];
    let bytes = 0;
    this.#members.walk(namespace, '', (entry) => {
      if (entry.unreadBytes === 0 || entry.kind.conversion) return true;
      bytes += entry.unreadBytes;
      return unread.push(entry) > 0;
    });
    return bytes > unreadBytesMax ? inSlices(facetsRead(unread)) : undefined;
  }

  #noteUnread({ unreadBytes }: Entry): void {
    if (this.#read.size === 0) return;
    this.#unreadBytes += unreadBytes;
    if (this.#unreadBytes > unreadBytesMax) this.#read.clear();
  }

  /** The objects that a filter selects, as they are now or were at a revision that is still in history. */
  select(filter: Filter, query: PageQuery = {}): Page {
    if (query.revision !== undefined) return this.#choose(filter, query);
    if (this.#members.size === 0) return nothing;
    const { text } = filter;
    if (text === undefined) return this.#choose(filter, query);
    const key = composedKey(String(query.limit ?? ''), text, query.start ?? '');
    let page = this.#pages.get(key);
    if (!page) {
      page = this.#choose(filter, query);
      this.#pages.add(key, page);
    }
    return page;
  }

  #choose(filter: Filter, query: PageQuery): Page {
    const { start = '', revision } = query;
    const entries: Entry[] = [];
    const limit = query.limit ?? Number.POSITIVE_INFINITY;
    let next: string | undefined;
    /** Adds an entry if it is selected; false when the page is full. */
    const visit = (entry: Entry): boolean => {
      if (!filter.covers(entry.namespace, entry.name) || !filter.selects(entry)) return true;
      if (entries.length < limit) return entries.push(entry) > 0;
      next = memberKey(entry.namespace, entry.name);
      return false;
    };
    if (revision === undefined) this.#visitNow(filter, start, visit);
    else for (const entry of this.#fromAt(filter.namespace, start, revision)) if (!visit(entry)) break;
    // The remaining objects are counted only if no selector has to be evaluated for each of them.
    const countable = next !== undefined && !filter.selective && filter.name === undefined;
    return new Page(entries, next, countable ? this.#count(filter.namespace, next!, revision) : undefined);
  }

  /** A filter for one name in one namespace is a single lookup. */
  #visitNow(filter: Filter, start: string, visit: (entry: Entry) => boolean): void {
    if (filter.name === undefined || filter.namespace === undefined) {
      this.#members.walk(filter.namespace, start, visit);
      return;
    }
    const entry = this.get(filter.namespace, filter.name);
    if (entry && compareKeys(memberKey(filter.namespace, filter.name), start) >= 0) visit(entry);
  }

  /** The state at an older revision: the current state, with every later change undone. */
  *#fromAt(namespace: string | undefined, start: string, revision: number): Iterable<Entry> {
    // The oldest change after the revision says what each object was. Its state may have to be read from the store.
    const undone = new Map<string, WatchEvent>();
    for (let i = this.#events.length - 1; i >= 0 && this.#events[i]!.revision > revision; i--) {
      const event = this.#events[i]!;
      if (namespace === undefined || namespace === event.namespace)
        undone.set(memberKey(event.namespace, event.name), event);
    }
    const restored = [...undone]
      .filter(([key]) => compareKeys(key, start) >= 0)
      .sort(([a], [b]) => compareKeys(a, b))
      .flatMap(([key, { previous }]) => (previous ? [[key, previous] as const] : []));
    let i = 0;
    for (const entry of this.#members.from(namespace, start)) {
      const key = memberKey(entry.namespace, entry.name);
      if (undone.has(key)) continue;
      for (; i < restored.length && compareKeys(restored[i]![0], key) < 0; i++) yield restored[i]![1];
      yield entry;
    }
    for (; i < restored.length; i++) yield restored[i]![1];
  }

  #count(namespace: string | undefined, start: string, revision: number | undefined): number {
    if (revision === undefined) return this.#members.count(namespace, start);
    let count = 0;
    for (const _ of this.#fromAt(namespace, start, revision)) count++;
    return count;
  }

  // Watching

  /** Number of the event after the newest. */
  get endNumber(): number {
    return this.#firstNumber + this.#events.length;
  }

  get startNumber(): number {
    return this.#firstNumber;
  }

  /** Number of the first event after a revision. */
  numberAfter(revision: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision > revision) high = middle;
      else low = middle + 1;
    }
    return this.#firstNumber + low;
  }

  /** The event of a number; undefined when it is outside the window. */
  event(number: number): WatchEvent | undefined {
    return this.#events[number - this.#firstNumber];
  }

  /** The kind is no longer served. Watchers get the remaining events, and end. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of [...this.#watchers, ...this.#rounds]) watcher.finish();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  add(watcher: Watcher): void {
    if (this.#isClosed) return;
    (isToldInRounds(watcher) ? this.#rounds : this.#watchers).add(watcher);
  }

  remove(watcher: Watcher): void {
    (isToldInRounds(watcher) ? this.#rounds : this.#watchers).delete(watcher);
  }

  /** Ends the watchers that the predicate selects: their next events are not known. */
  expire(isMeant: (watcher: Watcher) => boolean): void {
    for (const watcher of [...this.#watchers, ...this.#rounds]) if (isMeant(watcher)) watcher.expire();
  }

  get watcherCount(): number {
    return this.#watchers.size + this.#rounds.size;
  }

  /** Notifies watchers of events from this number on. */
  notify(fromNumber: number): void {
    for (const watcher of this.#watchers) watcher.pump();
    if (this.#rounds.size > 0) this.#rounds.announce(fromNumber);
    else this.#forgetNotices(fromNumber, this.endNumber);
  }

  /** Frees the encoded lines of events that all watchers have been sent. */
  #forgetNotices(fromNumber: number, toNumber: number): void {
    const end = Math.min(toNumber, this.endNumber);
    for (let number = fromNumber; number < end; number++) this.event(number)?.forgetNotices();
  }

  /** Forgets the changes up to a revision: watches cannot begin before it any more. */
  skip(revision: number): void {
    this.#since = Math.max(this.#since, revision);
  }

  /** Drops the events up to and including a revision from the window. */
  forget(revision: number): void {
    this.skip(revision);
    const keepFrom = this.numberAfter(revision) - this.#firstNumber;
    if (keepFrom === 0) return;
    this.#events = this.#events.slice(keepFrom);
    this.#firstNumber += keepFrom;
    for (const watchers of [this.#watchers, this.#rounds]) for (const watcher of watchers) watcher.pump();
  }
}

/** Yields the steps that it took to parse each for its labels and fields. */
function* facetsRead(entries: readonly Entry[]): Generator<number, void> {
  for (const entry of entries) {
    const steps = entry.unreadBytes;
    void entry.labels;
    yield steps;
  }
}
