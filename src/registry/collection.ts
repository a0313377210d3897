/**
 * Collections: all objects of one resource in key order, the recent changes to them, and who is watching.
 *
 * The changes are a window over history, numbered from the first change ever seen here. A watcher is a position
 * in that window, so watchers need no queues of their own: one that is slow falls behind in the window, and one
 * that falls out of it is told that its version has expired.
 */
import type { Kind } from '../api/kind.ts';
import { compareKeys } from '../store/sortedmap.ts';
import type { Entry } from './entry.ts';
import type { Filter } from './filter.ts';
import { memberKey } from './key.ts';
import { Members } from './members.ts';
import { Page, RecentPages } from './page.ts';
import type { Watcher } from './watcher.ts';
import type { WatchEvent } from './watchevent.ts';
import { isToldInRounds, WatchRounds } from './watchrounds.ts';

const nothing = new Page([], undefined, undefined);

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
  /** Those that are told of every change at once. */
  readonly #watchers = new Set<Watcher>();
  readonly #rounds = new WatchRounds((from, to) => this.#forgetNotices(from, to));
  readonly #pages = new RecentPages();
  #since: number;
  #isClosed = false;

  /** `since`: the revision of the state that is loaded first. Changes after it are known here. */
  constructor(since = 0) {
    this.#since = since;
  }

  /** Changes after this revision are known, and so is the state at it. */
  get since(): number {
    return this.#since;
  }

  get size(): number {
    return this.#members.size;
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#members.get(namespace, name);
  }

  /** Takes an object as part of the state that history begins with. */
  load(entry: Entry): void {
    this.#pages.clear();
    this.#members.set(entry);
  }

  /** Objects and changes are of another kind from now on, which reads them in its own way. */
  reread(kind: Kind): void {
    this.#pages.clear();
    this.#members.walk(undefined, '', (entry) => {
      entry.reread(kind);
      return true;
    });
    for (const { entry, previous } of this.#events) {
      entry?.reread(kind);
      previous?.reread(kind);
    }
  }

  apply(event: WatchEvent): void {
    this.#pages.clear();
    if (event.entry) this.#members.set(event.entry);
    else this.#members.delete(event.namespace, event.name);
    this.#events.push(event);
  }

  /** Objects a filter chooses, as they are now or were at a revision that history still knows. */
  select(filter: Filter, query: PageQuery = {}): Page {
    if (query.revision !== undefined) return this.#choose(filter, query);
    if (this.#members.size === 0) return nothing;
    const { text } = filter;
    if (text === undefined) return this.#choose(filter, query);
    const key = `${query.limit ?? ''} ${text} ${query.start ?? ''}`;
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
    /** Takes an entry if it is chosen; false when there is no room for it. */
    const visit = (entry: Entry): boolean => {
      if (!filter.covers(entry.namespace, entry.name) || !filter.selects(entry)) return true;
      if (entries.length < limit) return entries.push(entry) > 0;
      next = memberKey(entry.namespace, entry.name);
      return false;
    };
    if (revision === undefined) this.#visitNow(filter, start, visit);
    else for (const entry of this.#fromAt(filter.namespace, start, revision)) if (!visit(entry)) break;
    // How many are left can be told only where nobody has to look into them.
    const countable = next !== undefined && !filter.selective && filter.name === undefined;
    return new Page(entries, next, countable ? this.#count(filter.namespace, next!, revision) : undefined);
  }

  /** A filter for one name in one namespace needs no walk. */
  #visitNow(filter: Filter, start: string, visit: (entry: Entry) => boolean): void {
    if (filter.name === undefined || filter.namespace === undefined) {
      this.#members.walk(filter.namespace, start, visit);
      return;
    }
    const entry = this.get(filter.namespace, filter.name);
    if (entry && compareKeys(memberKey(filter.namespace, filter.name), start) >= 0) visit(entry);
  }

  /** State at an older revision: today's, with every later change undone. */
  *#fromAt(namespace: string | undefined, start: string, revision: number): Iterable<Entry> {
    const undone = new Map<string, Entry | undefined>();
    for (let i = this.#events.length - 1; i >= 0 && this.#events[i]!.revision > revision; i--) {
      const event = this.#events[i]!;
      if (namespace === undefined || namespace === event.namespace)
        undone.set(memberKey(event.namespace, event.name), event.previous);
    }
    const restored = [...undone]
      .filter(([key, entry]) => entry && compareKeys(key, start) >= 0)
      .sort(([a], [b]) => compareKeys(a, b));
    let i = 0;
    for (const entry of this.#members.from(namespace, start)) {
      const key = memberKey(entry.namespace, entry.name);
      if (undone.has(key)) continue;
      for (; i < restored.length && compareKeys(restored[i]![0], key) < 0; i++) yield restored[i]![1]!;
      yield entry;
    }
    for (; i < restored.length; i++) yield restored[i]![1]!;
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

  /** The event of a number; undefined when it is out of the window. */
  event(number: number): WatchEvent | undefined {
    return this.#events[number - this.#firstNumber];
  }

  /** The kind is not served any more. Watchers get what there is, and end. */
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

  /** Ends watchers that cannot be told of what comes next. */
  expire(isMeant: (watcher: Watcher) => boolean): void {
    for (const watcher of [...this.#watchers, ...this.#rounds]) if (isMeant(watcher)) watcher.expire();
  }

  get watcherCount(): number {
    return this.#watchers.size + this.#rounds.size;
  }

  /** Lets watchers know of events from this number on. */
  notify(fromNumber: number): void {
    for (const watcher of this.#watchers) watcher.pump();
    if (this.#rounds.size > 0) this.#rounds.announce(fromNumber);
    else this.#forgetNotices(fromNumber, this.endNumber);
  }

  /** Drops what only the telling needed. */
  #forgetNotices(fromNumber: number, toNumber: number): void {
    const end = Math.min(toNumber, this.endNumber);
    for (let number = fromNumber; number < end; number++) this.event(number)?.forgetNotices();
  }

  /** What happened up to a revision is not known any more: nobody may begin before it. */
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
