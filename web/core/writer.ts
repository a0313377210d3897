/**
 * Finds who wrote a version of an object, and when: the entry of managed fields that differs from the previous version.
 */
import type { ApiObject } from './objects.ts';

export interface Writer {
  readonly name: string;
  readonly how: string;
  readonly time: string | undefined;
}

export function writerOf(object: ApiObject, before: ApiObject | undefined): Writer | undefined {
  const known = new Set((before?.metadata.managedFields ?? []).map((entry) => JSON.stringify(entry)));
  const entries = object.metadata.managedFields ?? [];
  const fresh = entries.filter((entry) => !known.has(JSON.stringify(entry)));
  const latest = (fresh.length ? fresh : entries).toSorted((a, b) =>
    (a.time ?? '') < (b.time ?? '') ? 1 : -1,
  )[0];
  if (!latest) return undefined;
  const part = latest.subresource ? ` of ${latest.subresource}` : '';
  return {
    name: latest.manager ?? 'unknown',
    how: `${latest.operation === 'Apply' ? 'apply' : 'update'}${part}`,
    time: latest.time,
  };
}
