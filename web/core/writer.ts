/**
 * Finds who wrote a version of an object, and when: the entry of managed fields that differs from the previous version.
 */
import type { ApiObject } from './objects.ts';

export interface Writer {
  readonly name: string;
  readonly how: string;
  readonly time: string | undefined;
}

/** `part`: the subresource that alone has changed; times are whole seconds, so they may not tell who wrote last. */
export function writerOf(
  object: ApiObject,
  before: ApiObject | undefined,
  part?: string,
): Writer | undefined {
  const known = new Set((before?.metadata.managedFields ?? []).map((entry) => JSON.stringify(entry)));
  const all = object.metadata.managedFields ?? [];
  const ofPart = part === undefined ? [] : all.filter(({ subresource }) => subresource === part);
  const entries = ofPart.length ? ofPart : all;
  const fresh = entries.filter((entry) => !known.has(JSON.stringify(entry)));
  const latest = (fresh.length ? fresh : entries).toSorted((a, b) =>
    (a.time ?? '') < (b.time ?? '') ? 1 : -1,
  )[0];
  if (!latest) return undefined;
  const where = latest.subresource ? ` of ${latest.subresource}` : '';
  return {
    name: latest.manager ?? 'unknown',
    how: `${latest.operation === 'Apply' ? 'apply' : 'update'}${where}`,
    time: latest.time,
  };
}
