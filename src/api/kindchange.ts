/** Changes of the table of kinds: what can be wanted, and what is refused. */
import type { Kind, ResourceId } from './kind.ts';

/** Kinds to add, to put in the place of those of the same version and resource, and to remove: all at once. */
export interface WantedChange {
  readonly add?: readonly Kind[];
  readonly replace?: readonly Kind[];
  readonly remove?: readonly Kind[];
}

/** What has changed. */
export interface KindChange {
  readonly added: readonly Kind[];
  /** Those that are there now. */
  readonly replaced: readonly Kind[];
  readonly removed: readonly Kind[];
}

/**
 * Gets ready for a change, before the table shows it. What it answers is called when the change is made, or when
 * it is not.
 */
export type Preparation = (change: KindChange) => Promise<Prepared>;

export interface Prepared {
  /** The table shows the change; nobody has been told yet. */
  commit(): void;
  abandon(): void;
}

/** What of a table a change is checked against. */
interface Table {
  resource(apiVersion: string, resource: string): Kind | undefined;
  kind(apiVersion: string, kind: string): Kind | undefined;
  /** All kinds whose objects are stored under an id. */
  versions(id: ResourceId): Iterable<Kind>;
}

/** The change that is wanted, or an error when the table would not hold together after it. */
export function checkedChange(
  table: Table,
  { add = [], replace = [], remove = [] }: WantedChange,
): KindChange {
  for (const kind of add) checkAdded(table, kind);
  for (const kind of replace) checkReplaced(table, kind);
  for (const kind of remove)
    if (table.resource(kind.apiVersion, kind.resource) !== kind)
      throw new Error(`${nameOf(kind)} is not in the table`);
  const changed = [...add, ...replace, ...remove];
  if (new Set(changed.map(nameOf)).size < changed.length) throw new Error('a kind is changed twice at once');
  const gone = new Set([
    ...remove,
    ...replace.map((kind) => table.resource(kind.apiVersion, kind.resource)!),
  ]);
  for (const id of new Set(changed.map((kind) => kind.storage.id))) {
    const kept = [...table.versions(id)].filter((kind) => !gone.has(kind));
    checkVersions(id, [...kept, ...[...add, ...replace].filter((kind) => kind.storage.id === id)]);
  }
  return { added: add, replaced: replace, removed: remove };
}

const nameOf = ({ apiVersion, resource }: Kind): string => `${apiVersion} ${resource}`;

function checkAdded(table: Table, kind: Kind): void {
  // The core group has this name in ids.
  if (kind.group === 'core') throw new Error('a group cannot be called core');
  if (table.resource(kind.apiVersion, kind.resource)) throw new Error(`there is a ${nameOf(kind)} already`);
  if (table.kind(kind.apiVersion, kind.kind))
    throw new Error(`there is a kind ${kind.kind} in ${kind.apiVersion} already`);
}

/** What is stored stays as it is, so a kind that takes another's place must find its way in it. */
function checkReplaced(table: Table, kind: Kind): void {
  const before = table.resource(kind.apiVersion, kind.resource);
  if (!before) throw new Error(`${nameOf(kind)} is not in the table`);
  const same =
    kind.kind === before.kind &&
    kind.namespaced === before.namespaced &&
    kind.storage.id === before.storage.id &&
    kind.storage.apiVersion === before.storage.apiVersion;
  if (!same)
    throw new Error(`${nameOf(kind)} has another name, scope or storage than the one it would replace`);
}

/** One of the versions is stored, and all others say that they are stored as that one. */
function checkVersions(id: ResourceId, versions: readonly Kind[]): void {
  const [first] = versions;
  if (!first) return;
  const stored = first.storage;
  if (!versions.includes(stored) || versions.some((kind) => kind.storage !== stored))
    throw new Error(`the versions of ${id} are not stored as one of them`);
}
