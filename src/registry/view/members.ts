/**
 * Members: the current objects of one resource, by namespace and name. They are walked in the order of their member
 * keys (`key.ts`): by namespace, then by name.
 */
import { compareKeys, SortedMap } from '../../store/sorted-map.ts';
import type { Entry } from './entry.ts';
import { parseMemberKey } from './key.ts';

export class Members {
  readonly #namespaces = new SortedMap<SortedMap<Entry>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  set(entry: Entry): void {
    const { namespace, name } = entry;
    let members = this.#namespaces.get(namespace);
    if (!members) {
      members = new SortedMap();
      this.#namespaces.set(namespace, members);
    }
    const before = members.size;
    members.set(name, entry);
    this.#size += members.size - before;
  }

  delete(namespace: string, name: string): void {
    const members = this.#namespaces.get(namespace);
    if (!members?.delete(name)) return;
    this.#size--;
    if (members.size === 0) this.#namespaces.delete(namespace);
  }

  /**
   * Visits the objects of one namespace, or of all, from a member key on (inclusive), until the visitor returns
   * false.
   */
  walk(namespace: string | undefined, start: string, visit: (entry: Entry) => boolean): void {
    for (const { members, from } of this.#parts(namespace, start)) {
      let wanted = true;
      members.walk(from, (entry) => (wanted = visit(entry)));
      if (!wanted) return;
    }
  }

  /** The same as an iterator. No object may be added or deleted while it is used. */
  *from(namespace: string | undefined, start: string): Generator<Entry, void, undefined> {
    for (const { members, from } of this.#parts(namespace, start))
      for (const { value } of members.from(from)) yield value;
  }

  /** Number of objects in one namespace, or in all, from a member key on (inclusive). */
  count(namespace: string | undefined, start: string): number {
    let count = 0;
    for (const { members, from } of this.#parts(namespace, start)) count += members.count(from);
    return count;
  }

  /** The non-empty namespaces from a member key on, each with the name to start at. */
  *#parts(
    namespace: string | undefined,
    start: string,
  ): Generator<{ members: SortedMap<Entry>; from: string }, void, undefined> {
    const first = parseMemberKey(start);
    if (namespace === undefined)
      for (const { key, value } of this.#namespaces.from(first.namespace))
        yield { members: value, from: key === first.namespace ? first.name : '' };
    else {
      const members = this.#namespaces.get(namespace);
      const order = compareKeys(first.namespace, namespace);
      if (members && order <= 0) yield { members, from: order === 0 ? first.name : '' };
    }
  }
}
