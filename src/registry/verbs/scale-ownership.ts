/**
 * Ownership for the scale subresource. While a Scale is written it has managed fields of its own: the entries of the
 * scaled object that own the number of replicas, converted to the version of the Scale. Only that field is converted,
 * both ways.
 */

import type { Kind } from '../../api/kind/kind.ts';
import { scaleNames } from '../../api/kind/scale-paths.ts';
import { setEntries, setManaged } from '../../api/model/managed-text.ts';
import { sortedEntries } from '../../api/ownership/managed-fields.ts';
import { valueAt } from '../../api/text/json-path.ts';
import { difference, type FieldSet, intersection, isEmptySet } from '../../api/values/field-set.ts';
import { entryOf, identity, type Managed } from '../../api/values/managed-entry.ts';
import type { Registry } from '../registry.ts';
import { managerOf, type Track, versionOf } from './ownership.ts';

const replicas: FieldSet = { 'f:spec': { 'f:replicas': {} } };

/** The path of the replicas field in a version; null when that version has no scale, undefined when it is unknown. */
function replicasAt(registry: Registry, kind: Kind, apiVersion: string): FieldSet | null | undefined {
  const version = versionOf(registry, kind, apiVersion);
  if (!version?.custom) return version && replicas;
  const paths = version.scaling?.paths;
  if (!paths) return null;
  return scaleNames(paths.spec).reduceRight<FieldSet>((set, name) => ({ [`f:${name}`]: set }), {});
}

const owns = ({ fieldsV1 }: Managed, field: FieldSet): boolean => !isEmptySet(intersection(fieldsV1, field));

/** The entries of a Scale. */
export const scaleEntries = (
  registry: Registry,
  kind: Kind,
  entries: readonly Managed[],
  apiVersion: string,
): Managed[] =>
  entries.flatMap((entry) => {
    const field = replicasAt(registry, kind, entry.apiVersion);
    return field && owns(entry, field) ? [entryOf({ ...entry, apiVersion }, replicas, entry.time)] : [];
  });

/**
 * The entries of the scaled object, from those of the Scale after a write. A new one has no time, as in Kubernetes.
 * Entries of versions that the kind does not have are dropped.
 */
export function entriesFromScale(
  registry: Registry,
  kind: Kind,
  entries: readonly Managed[],
  scale: readonly Managed[],
): Managed[] {
  const { apiVersion } = kind;
  const key = (entry: Managed): string => identity({ ...entry, apiVersion });
  const left = new Map(scale.filter((entry) => owns(entry, replicas)).map((entry) => [key(entry), entry]));
  const out: Managed[] = [];
  for (const entry of entries) {
    const field = replicasAt(registry, kind, entry.apiVersion);
    if (field === undefined) continue;
    if (field === null || !owns(entry, field) || left.delete(key(entry))) out.push(entry);
    else {
      const rest = difference(entry.fieldsV1, field);
      if (!isEmptySet(rest)) out.push(entryOf(entry, rest, entry.time));
    }
  }
  const field = replicasAt(registry, kind, apiVersion)!;
  for (const entry of left.values()) out.push(entryOf({ ...entry, apiVersion }, field, undefined));
  return sortedEntries(out);
}

export const trackScale: Track = ({ registry, managedFields }, request, target, object, old, current) => {
  const { managed } = current;
  const { kind } = target;
  setManaged(object.metadata, managed);
  const replicasOf = (scaled: typeof object): number =>
    Number(valueAt(scaled, scaleNames(kind.scaling?.paths?.spec ?? '.spec.replicas')) ?? 0);
  if (!managed || managedFields === 'off' || replicasOf(object) === replicasOf(old)) return;
  const scale = [entryOf(managerOf(request, target, 'Update'), replicas, undefined)];
  setEntries(object.metadata, entriesFromScale(registry, kind, managed.entries, scale), managed);
};
