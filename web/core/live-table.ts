/**
 * A live table: the rows of a kind as the server formats them, kept up to date. Rows are plain values with only what is
 * shown, so that 50,000 of them fit into some 30 MB. Changes are published once per frame.
 */
import { signal } from '@preact/signals';
import { type Query, tableAs } from './api.ts';
import { follow, type Page, type Sink } from './follower.ts';
import type { Metadata, TableAnswer, TableColumn, TableRow } from './objects.ts';
import type { WatchEvent } from './watch.ts';

/** Rows that are kept; a longer list is cut, and the dashboard says so. */
const rowsMax = 100_000;
/** How long a deleted row stays visible as such, and a new or changed one is marked. */
const departureMs = 1_500;
const markMs = 2_500;

export interface Row {
  readonly uid: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly cells: readonly unknown[];
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly createdMs: number;
  readonly deleting: boolean;
  /** The controller that owns it. */
  readonly owner: Owner | undefined;
  /** What has just happened to the row. */
  mark: 'new' | 'changed' | 'gone' | undefined;
  /** When it happened, by `performance.now()`. */
  markedMs: number;
}

/** The same value for all rows of a table that have the same owner. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
}

export interface Change {
  /** Rows that are new or have other values; `gone` ones are still shown. */
  readonly put: readonly Row[];
  readonly removed: readonly string[];
  /** Whether all rows have changed, because they come from a new list. */
  readonly all: boolean;
}

export class LiveTable {
  readonly columns = signal<readonly TableColumn[]>([]);
  /** `loading` until the first list is complete. */
  readonly state = signal<'loading' | 'live' | 'past' | 'refused'>('loading');
  readonly error = signal<Error | undefined>(undefined);
  /** Counts changes, at most one per frame. */
  readonly version = signal(0);
  readonly rows = new Map<string, Row>();
  /** Number of rows on the server beyond the kept ones. */
  readonly beyond = signal(0);
  readonly #owners = new Map<string, Owner>();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(change: Change) => void>();
  #put = new Map<string, Row>();
  #removed = new Set<string>();
  #all = false;
  #scheduled = false;

  constructor(path: string, query: Query = {}, at?: number) {
    const { signal } = this.#stop;
    const sink = this.#sink(at);
    void follow({ path, query: { ...query, includeObject: 'Metadata' }, accept: tableAs, at, signal }, sink);
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  /** Calls the listener with changes, once per frame, before `version` increases. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #sink(at: number | undefined): Sink {
    let seen = new Set<string>();
    let first = true;
    return {
      begin: () => {
        seen = new Set();
      },
      page: (page) => {
        const { rows, columnDefinitions, metadata } = page as Page & TableAnswer;
        if (columnDefinitions?.length) this.#setColumns(columnDefinitions);
        for (const row of rows ?? []) {
          const uid = row.object.metadata.uid;
          seen.add(uid);
          this.#set(row, first ? undefined : this.rows.has(uid) ? undefined : 'new');
        }
        const room = this.rows.size < rowsMax;
        this.beyond.value = room ? 0 : (metadata.remainingItemCount ?? 0);
        return room;
      },
      end: () => {
        for (const uid of this.rows.keys()) if (!seen.has(uid)) this.#drop(uid);
        first = false;
        this.#all = true;
        this.#schedule();
        this.error.value = undefined;
        this.state.value = at === undefined ? 'live' : 'past';
      },
      events: (events) => {
        for (const event of events) this.#take(event);
      },
      refused: (error) => {
        this.error.value = error;
        this.state.value = 'refused';
      },
    };
  }

  #setColumns(columns: readonly TableColumn[]): void {
    const names = (list: readonly TableColumn[]) => list.map(({ name }) => name).join();
    if (names(columns) !== names(this.columns.value)) this.columns.value = columns;
  }

  #take({ type, object }: WatchEvent): void {
    const { rows, columnDefinitions } = object as TableAnswer;
    if (columnDefinitions?.length) this.#setColumns(columnDefinitions);
    for (const row of rows ?? []) {
      if (type === 'DELETED') this.#depart(row);
      else if (this.rows.size < rowsMax || this.rows.has(row.object.metadata.uid))
        this.#set(row, this.rows.has(row.object.metadata.uid) ? 'changed' : 'new');
    }
  }

  #set({ cells, object }: TableRow, mark: Row['mark']): void {
    const row = rowOf(object.metadata, cells, mark, this.#ownerOf(object.metadata));
    this.rows.set(row.uid, row);
    this.#removed.delete(row.uid);
    this.#put.set(row.uid, row);
    this.#schedule();
    if (mark) setTimeout(() => this.#unmark(row), markMs);
  }

  #ownerOf({ ownerReferences }: Metadata): Owner | undefined {
    const found = ownerReferences?.find(({ controller }) => controller);
    if (!found) return undefined;
    const { uid, kind, name } = found;
    let owner = this.#owners.get(uid);
    if (!owner) {
      if (this.#owners.size >= rowsMax) this.#owners.clear();
      owner = { kind, name };
      this.#owners.set(uid, owner);
    }
    return owner;
  }

  /** A deleted row is shown as such for a moment. */
  #depart(row: TableRow): void {
    const { uid } = row.object.metadata;
    if (!this.rows.has(uid)) return;
    this.#set(row, 'gone');
    const gone = this.rows.get(uid);
    setTimeout(() => this.rows.get(uid) === gone && this.#drop(uid), departureMs);
  }

  #drop(uid: string): void {
    this.rows.delete(uid);
    this.#put.delete(uid);
    this.#removed.add(uid);
    this.#schedule();
  }

  #unmark(row: Row): void {
    if (row.mark === 'gone' || this.rows.get(row.uid) !== row) return;
    row.mark = undefined;
    this.#schedule();
  }

  /** A page in the background has no frames: there, changes are published by a timer. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const tell = () => this.#tell();
    if (document.visibilityState === 'visible') requestAnimationFrame(tell);
    else setTimeout(tell, 1_000);
  }

  #tell(): void {
    this.#scheduled = false;
    const change = { put: [...this.#put.values()], removed: [...this.#removed], all: this.#all };
    this.#put = new Map();
    this.#removed = new Set();
    this.#all = false;
    for (const listener of this.#listeners) listener(change);
    this.version.value++;
  }
}

function rowOf(
  metadata: Metadata,
  cells: readonly unknown[],
  mark: Row['mark'],
  owner: Owner | undefined,
): Row {
  return {
    uid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    cells,
    labels: metadata.labels,
    createdMs: Date.parse(metadata.creationTimestamp ?? ''),
    deleting: metadata.deletionTimestamp !== undefined,
    owner,
    mark,
    markedMs: mark ? performance.now() : 0,
  };
}
