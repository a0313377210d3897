/** How objects of a version that has gone, or was never on by default, become those of a version that is served today. */
import type { JsonObject } from '../../text/object.ts';

/** Both may change and return what they are given. */
export interface VersionConversion {
  /** Creates and updates keep what today's version resets, because it is a field of its own there. */
  readonly isKeptOnWrite?: true;
  /** To the version of today. */
  up(object: JsonObject): JsonObject;
  /** To the older version. */
  down(object: JsonObject): JsonObject;
}

/** Versions that differ in their name alone. */
export const sameShape: VersionConversion = { up: (object) => object, down: (object) => object };

/** Changes a member, if it is there. */
export function changeMember(object: JsonObject, name: string, change: (value: JsonObject) => unknown): void {
  if (object[name] !== undefined && object[name] !== null) object[name] = change(object[name] as JsonObject);
}

/** Changes each item of a list, if there is one. */
export function changeItems(
  object: JsonObject,
  name: string,
  change: (item: JsonObject) => JsonObject,
): void {
  const items = object[name];
  if (Array.isArray(items)) object[name] = items.map(change);
}

/** Without members that are undefined. */
export const defined = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** Sets or removes an annotation. */
export function annotate(object: JsonObject, name: string, value: string | undefined): void {
  const metadata = { ...(object['metadata'] as JsonObject) };
  const { [name]: _, ...others } = (metadata['annotations'] ?? {}) as JsonObject;
  const annotations: JsonObject = value === undefined ? others : { ...others, [name]: value };
  if (Object.keys(annotations).length) metadata['annotations'] = annotations;
  else delete metadata['annotations'];
  object['metadata'] = metadata;
}

export const annotationOf = (object: JsonObject, name: string): string | undefined =>
  ((object['metadata'] as JsonObject | undefined)?.['annotations'] as Record<string, string> | undefined)?.[
    name
  ];
