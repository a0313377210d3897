/**
 * A model of a store's history, built only from the answers to writes: which change has which version, and so
 * which events a watch from any version must deliver. Watches are compared with it event by event.
 */
import type { Json } from './http.ts';

export interface Change {
  readonly version: number;
  readonly resource: string;
  /** Undefined if this change deleted the object. */
  readonly object: Json | undefined;
  readonly previous: Json | undefined;
}

export interface ModelEvent {
  readonly type: string;
  readonly object: Json;
}

/** The selection of a watch. */
export interface Scope {
  readonly resource: string;
  /** Undefined: all namespaces. */
  readonly namespace?: string;
  /** Whether the request's selectors match. */
  selects(object: Json): boolean;
}

const keyOf = ({ namespace, name }: { namespace?: string; name: string }): string =>
  `${namespace ?? ''}/${name}`;
export const versionOf = (object: Json): number => Number(object.metadata.resourceVersion);

/** Bytewise by namespace, then name, as lists are sorted. */
const inOrder = (a: Json, b: Json): number => {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.namespace ?? ''}\u0000${metadata.name}`);
  return left! < right! ? -1 : 1;
};

type Write =
  | { readonly resource: string; readonly object: Json }
  | { readonly resource: string; readonly key: string };

export class ChangeLog {
  /** By version. A `key` stands for a deletion. */
  readonly #writes = new Map<number, Write>();
  /** Deletions whose answer had no version, in the order they were made. */
  readonly #unplaced: { resource: string; key: string }[] = [];
  #last: number;
  #waiters: { readonly size: number; readonly done: () => void }[] = [];

  /** Versions up to and including `base` are ignored. */
  constructor(readonly base: number) {
    this.#last = base;
  }

  get size(): number {
    return this.#writes.size + this.#unplaced.length;
  }

  /** The newest version in an answer. */
  get last(): number {
    return this.#last;
  }

  /** Records the answer to a write. A version seen before means that the write changed nothing. */
  wrote(resource: string, object: Json): void {
    const gone = object.metadata.deletionTimestamp && !object.metadata.finalizers?.length;
    if (gone) this.deleted(resource, object.metadata, versionOf(object));
    else this.#place(versionOf(object), { resource, object });
  }

  /**
   * Records the answer to a deletion. If it has no version, the version is inferred: all others are known, so
   * such deletions have the missing ones, in order. That requires that one writer makes all of them.
   */
  deleted(resource: string, metadata: { namespace?: string; name: string }, version?: number): void {
    if (version === undefined) {
      this.#unplaced.push({ resource, key: keyOf(metadata) });
      this.#wake();
    } else this.#place(version, { resource, key: keyOf(metadata) });
  }

  #place(version: number, write: Write): void {
    if (!this.#writes.has(version)) this.#writes.set(version, write);
    this.#last = Math.max(this.#last, version);
    this.#wake();
  }

  /** Resolves when this many changes have been made. */
  grown(size: number): Promise<void> {
    if (this.size >= size) return Promise.resolve();
    return new Promise((done) => this.#waiters.push({ size, done }));
  }

  #wake(): void {
    const { size } = this;
    for (const waiter of this.#waiters) if (waiter.size <= size) waiter.done();
    this.#waiters = this.#waiters.filter((waiter) => waiter.size > size);
  }

  /** All changes in order. Throws when the answers do not form one history without gaps. */
  history(newest: number): History {
    const writes = new Map(this.#writes);
    const unplaced = [...this.#unplaced];
    const changes: Change[] = [];
    const state = new Map<string, Json>();
    for (let version = this.base + 1; version <= newest; version++) {
      const write = writes.get(version) ?? unplaced.shift();
      if (!write) throw new Error(`nobody made version ${version}`);
      const { resource } = write;
      const object = 'object' in write ? write.object : undefined;
      const id = `${resource}/${'object' in write ? keyOf(write.object.metadata) : write.key}`;
      const previous = state.get(id);
      if (!object && !previous) throw new Error(`version ${version} deleted ${id}, which did not exist`);
      changes.push({ version, resource, object, previous });
      if (object) state.set(id, object);
      else state.delete(id);
    }
    if (unplaced.length) throw new Error(`${unplaced.length} deletions took no version`);
    return new History(this.base, changes);
  }
}

export class History {
  constructor(
    readonly base: number,
    readonly changes: readonly Change[],
  ) {}

  get newest(): number {
    return this.base + this.changes.length;
  }

  /** The objects of a scope at a version, in list order. */
  stateAt(version: number, scope: Scope): Json[] {
    const state = new Map<string, Json>();
    for (const change of this.changes) {
      if (change.version > version) break;
      if (change.resource !== scope.resource) continue;
      const { metadata } = change.object ?? change.previous;
      if (change.object) state.set(keyOf(metadata), change.object);
      else state.delete(keyOf(metadata));
    }
    return [...state.values()]
      .filter((object) => covers(scope, object) && scope.selects(object))
      .sort(inOrder);
  }

  /** The events that a watch of a scope gets for the changes after a version. */
  eventsAfter(version: number, scope: Scope): ModelEvent[] {
    const events: ModelEvent[] = [];
    for (const change of this.changes) {
      if (change.version <= version || change.resource !== scope.resource) continue;
      const event = seen(change, scope);
      if (event) events.push(event);
    }
    return events;
  }
}

const covers = (scope: Scope, object: Json): boolean =>
  scope.namespace === undefined || object.metadata.namespace === scope.namespace;

/** Versions at which a state may have been read, as far as the scope distinguishes them, newest first. */
export const versionsToTell = (history: History, scope: Scope): number[] =>
  [
    history.base,
    ...history.eventsAfter(history.base, scope).map(({ object }) => versionOf(object)),
  ].reverse();

function seen({ version, object, previous }: Change, scope: Scope): ModelEvent | undefined {
  if (!covers(scope, object ?? previous)) return undefined;
  const now = object !== undefined && scope.selects(object);
  const before = previous !== undefined && scope.selects(previous);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  if (!before) return undefined;
  const metadata = { ...previous.metadata, resourceVersion: String(version) };
  return { type: 'DELETED', object: { ...previous, metadata } };
}
