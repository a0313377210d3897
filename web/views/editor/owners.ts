/** Who manages which field, by `metadata.managedFields`. */

import type { ApiObject, Json, ManagedEntry } from '../../core/objects.ts';
import type { Path } from '../../core/schema.ts';

export interface Manager {
  readonly name: string;
  readonly operation: string;
  readonly subresource: string | undefined;
  readonly time: string | undefined;
  readonly fields: Json;
}

export const managersOf = (entries: readonly ManagedEntry[] = []): readonly Manager[] =>
  entries.map(({ manager = '', operation = '', subresource, time, fieldsV1 }) => ({
    name: manager,
    operation,
    subresource,
    time,
    fields: fieldsV1 ?? {},
  }));

/** Indexes in `managers` of those that own a field itself. */
export function ownersOf(managers: readonly Manager[], object: ApiObject, path: Path): readonly number[] {
  const owners: number[] = [];
  managers.forEach(({ fields }, at) => {
    if (owns(fields, object, path)) owners.push(at);
  });
  return owners;
}

function owns(fields: Json, object: Json, path: Path): boolean {
  let node = fields;
  let value = object;
  for (const [at, step] of path.entries()) {
    const isLast = at === path.length - 1;
    const below = typeof step === 'number' ? itemOf(node, value?.[step]) : node?.[`f:${step}`];
    value = value?.[step];
    if (below === undefined) return false;
    // `{}`: everything below belongs to the manager, too.
    if (Object.keys(below).length === 0) return true;
    if (isLast) return below['.'] !== undefined;
    node = below;
  }
  return false;
}

/** The part of the field set for an item of a list: by its keys, or by its value. */
function itemOf(node: Json, item: Json): Json {
  for (const [name, below] of Object.entries(node ?? {})) {
    if (name.startsWith('v:') && name.slice(2) === JSON.stringify(item)) return below;
    if (!name.startsWith('k:')) continue;
    const keys = Object.entries(parsed(name.slice(2)));
    if (keys.length && keys.every(([key, value]) => item?.[key] === value)) return below;
  }
  return undefined;
}

function parsed(text: string): Record<string, Json> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
