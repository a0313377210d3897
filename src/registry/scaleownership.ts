/**
 * Ownership through a scale. A Scale has entries of its own while it is written: those of the scaled object that own the
 * number of replicas, in the version of the Scale. Only that field is carried over and back.
 */
import { difference, type FieldSet, intersection, isEmptySet } from '../api/fieldset.ts';
import { entryOf, identity, type Managed } from '../api/managedentry.ts';
import { sortedEntries } from '../api/managedfields.ts';
import { setEntries, setManaged } from '../api/managedtext.ts';
import type { ApiObject } from '../api/object.ts';
import { managerOf, type Track } from './ownership.ts';

const replicas: FieldSet = { 'f:spec': { 'f:replicas': {} } };

const ownsReplicas = ({ fieldsV1 }: Managed): boolean => !isEmptySet(intersection(fieldsV1, replicas));

/** The entries of a Scale. */
export const scaleEntries = (entries: readonly Managed[], apiVersion: string): Managed[] =>
  entries.filter(ownsReplicas).map((entry) => entryOf({ ...entry, apiVersion }, replicas, entry.time));

/**
 * The entries of the scaled object, from those of the Scale after a write. A new one has no time, as in Kubernetes.
 *
 * @param apiVersion of the scaled object
 */
export function entriesFromScale(
  entries: readonly Managed[],
  scale: readonly Managed[],
  apiVersion: string,
): Managed[] {
  const key = (entry: Managed): string => identity({ ...entry, apiVersion });
  const left = new Map(scale.filter(ownsReplicas).map((entry) => [key(entry), entry]));
  const out: Managed[] = [];
  for (const entry of entries) {
    if (!ownsReplicas(entry) || left.delete(key(entry))) out.push(entry);
    else {
      const rest = difference(entry.fieldsV1, replicas);
      if (!isEmptySet(rest)) out.push(entryOf(entry, rest, entry.time));
    }
  }
  for (const entry of left.values()) out.push(entryOf({ ...entry, apiVersion }, replicas, undefined));
  return sortedEntries(out);
}

export const trackScale: Track = (registry, request, target, object, old, current) => {
  const { managed } = current;
  setManaged(object.metadata, managed);
  if (!managed || registry.managedFields === 'off' || replicasOf(object) === replicasOf(old)) return;
  const who = managerOf(request, target, 'Update');
  setEntries(
    object.metadata,
    entriesFromScale(managed.entries, [entryOf(who, replicas, undefined)], target.kind.apiVersion),
    managed,
  );
};

const replicasOf = ({ spec }: ApiObject): number =>
  (spec as { replicas?: number } | undefined)?.replicas ?? 0;
