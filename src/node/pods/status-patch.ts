/**
 * Status patches: the smallest strategic merge patch from one status to another. Conditions are merged by
 * type, so conditions of other writers are kept.
 */
import { isDeepStrictEqual } from 'node:util';
import { passingConditions } from './pod-status.ts';

/** Lists that are replaced as a whole, because a merge patch would only add to them. */
const replacedLists = new Set(['podIPs', 'hostIPs', 'addresses']);
/** Maps whose missing keys must be removed explicitly, because a merge patch keeps them. */
const shrinkingMaps = new Set(['capacity', 'allocatable']);

interface Condition {
  readonly type?: string;
}

/** The patch; undefined when nothing has changed. */
export function statusPatch(before: object, after: object): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  const old = before as Record<string, unknown>;
  const wanted = after as Record<string, unknown>;
  for (const key of new Set([...Object.keys(old), ...Object.keys(wanted)])) {
    const value = plain(wanted[key]);
    const previous = plain(old[key]);
    if (isDeepStrictEqual(value, previous)) continue;
    if (value === undefined) patch[key] = null;
    else if (key === 'conditions') {
      const changed = changedConditions(previous as Condition[] | undefined, value as Condition[]);
      if (changed.length) patch[key] = changed;
    } else if (replacedLists.has(key) && previous !== undefined)
      patch[key] = [{ $patch: 'replace' }, ...(value as object[])];
    else if (shrinkingMaps.has(key)) {
      const gone = Object.keys(previous ?? {}).filter((name) => !Object.hasOwn(value as object, name));
      patch[key] = { ...(value as object), ...Object.fromEntries(gone.map((name) => [name, null])) };
    } else patch[key] = value;
  }
  return Object.keys(patch).length ? patch : undefined;
}

/** A merged list element keeps fields that the patch does not name, so removed fields must be set to null. */
function changedConditions(before: readonly Condition[] = [], after: readonly Condition[]): object[] {
  const changed: object[] = [];
  for (const condition of after) {
    const previous = before.find(({ type }) => type === condition.type);
    if (isDeepStrictEqual(previous, condition)) continue;
    const gone = Object.keys(previous ?? {}).filter((key) => !(key in condition));
    changed.push({ ...condition, ...Object.fromEntries(gone.map((key) => [key, null])) });
  }
  for (const { type = '' } of before)
    if (passingConditions.has(type) && !after.some((condition) => condition.type === type))
      changed.push({ type, $patch: 'delete' });
  return changed;
}

/** The value as it would be after a round trip through the API: without unset, null or empty fields. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.length ? value.map(plain) : undefined;
  if (value === null || typeof value !== 'object') return value ?? undefined;
  const kept: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const seen = plain(member);
    if (seen !== undefined) kept[key] = seen;
  }
  return Object.keys(kept).length ? kept : undefined;
}
