/** Changes of the table of kinds, and the checks that they pass. */
import type { Kind, ResourceId } from './kind.ts';

/** Kinds to add, to replace (those of the same version and resource), and to remove, in one step. */
export interface WantedChange {
  readonly add?: readonly Kind[];
  readonly replace?: readonly Kind[];
  readonly remove?: readonly Kind[];
}

/** The change that was made. */
export interface KindChange {
  readonly added: readonly Kind[];
  /** The current ones. */
  readonly replaced: readonly Kind[];
  readonly removed: readonly Kind[];
}

/**
 * Prepares for a change, before it is visible in the table. The returned functions are called when the change is
 * made, or when it is given up.
 */
export type Preparation = (change: KindChange) => Promise<Prepared>;

export interface Prepared {
  /** The change is visible in the table; followers have not been called yet. */
  commit(): void;
  abandon(): void;
}

/** The parts of a table that the checks need. */
interface Table {
  /** Finds a kind, also one that is not served. */
  find(apiVersion: string, resource: string): Kind | undefined;
  kind(apiVersion: string, kind: string): Kind | undefined;
  /** All kinds whose objects are stored under an id. */
  versions(id: ResourceId): Iterable<Kind>;
}

/** The resulting change, or an error when the table would be inconsistent after it. */
export function checkedChange(
  table: Table,
  { add = [], replace = [], remove = [] }: WantedChange,
): KindChange {
  for (const kind of add) checkAdded(table, kind);
  for (const kind of replace) checkReplaced(table, kind);
  for (const kind of remove)
    if (table.find(kind.apiVersion, kind.resource) !== kind)
      throw new Error(`${nameOf(kind)} is not in the table`);
  const changed = [...add, ...replace, ...remove];
  if (new Set(changed.map(nameOf)).size < changed.length) throw new Error('a kind is changed twice at once');
  const gone = new Set([...remove, ...replace.map((kind) => table.find(kind.apiVersion, kind.resource)!)]);
  for (const id of new Set(changed.map((kind) => kind.storage.id))) {
    const kept = [...table.versions(id)].filter((kind) => !gone.has(kind));
    checkVersions(id, [...kept, ...[...add, ...replace].filter((kind) => kind.storage.id === id)]);
  }
  return { added: add, replaced: replace, removed: remove };
}

const nameOf = ({ apiVersion, resource }: Kind): string => `${apiVersion} ${resource}`;

function checkAdded(table: Table, kind: Kind): void {
  // `core` is the name of the core group in ids.
  if (kind.group === 'core') throw new Error('a group cannot be called core');
  if (table.find(kind.apiVersion, kind.resource)) throw new Error(`there is a ${nameOf(kind)} already`);
  if (table.kind(kind.apiVersion, kind.kind))
    throw new Error(`there is a kind ${kind.kind} in ${kind.apiVersion} already`);
}

/** A replacement must be able to read the objects that are stored. */
function checkReplaced(table: Table, kind: Kind): void {
  const before = table.find(kind.apiVersion, kind.resource);
  if (!before) throw new Error(`${nameOf(kind)} is not in the table`);
  const same =
    kind.kind === before.kind &&
    kind.namespaced === before.namespaced &&
    kind.storage.id === before.storage.id &&
    (kind.storage.apiVersion === before.storage.apiVersion || kind.storage.refresh !== undefined);
  if (!same)
    throw new Error(`${nameOf(kind)} has another name, scope or storage than the one it would replace`);
}

/** Checks that one version of a resource is the stored one, and that all others name it. */
function checkVersions(id: ResourceId, versions: readonly Kind[]): void {
  const [first] = versions;
  if (!first) return;
  const stored = first.storage;
  if (!versions.includes(stored) || versions.some((kind) => kind.storage !== stored))
    throw new Error(`the versions of ${id} are not stored as one of them`);
}
