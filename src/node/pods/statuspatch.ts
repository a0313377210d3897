/**
 * Status patches: the smallest strategic merge patch that leads from one status to another. Conditions are merged
 * by type, so those of others stay whatever happens meanwhile.
 */
import { isDeepStrictEqual } from 'node:util';
import { passingConditions } from './podstatus.ts';

/** Lists that a merge would only ever add to. */
const replacedLists = new Set(['podIPs', 'hostIPs', 'addresses']);

interface Condition {
  readonly type?: string;
}

/** Undefined when there is nothing to change. */
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
    else patch[key] = value;
  }
  return Object.keys(patch).length ? patch : undefined;
}

/** An element of a merged list keeps what the patch does not name, so what is to go must be said. */
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

/** As it looks after a trip over the wire: what is unset, null or empty is not there. */
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
