/** Applies objects of files in this process, as `kubectl apply --server-side --force-conflicts` would. */
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { Request } from '../../registry/request.ts';
import type { Place } from '../../registry/target.ts';
import { apply } from '../../registry/verbs/apply.ts';
import type { Entry } from '../../registry/view/entry.ts';
import type { Writing } from '../../registry/writing.ts';
import { placeOf } from './object-place.ts';

/** What a server adds to objects, and a file that was copied from one may hold. */
const serverFields = [
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'generation',
  'selfLink',
];
const shownChars = 200;
const administrator = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** The place of an object in an order in which each finds what it needs: namespaces and definitions come first. */
export const rank = ({ kind }: JsonObject): number =>
  kind === 'Namespace' ? 0 : kind === 'CustomResourceDefinition' ? 1 : 2;

/** An object without what only a server writes. */
export function cleaned(object: JsonObject): JsonObject & { readonly metadata: JsonObject } {
  const { metadata } = object;
  if (!isJsonObject(metadata))
    throw new Error(`an object without metadata: ${JSON.stringify(object).slice(0, shownChars)}`);
  const kept = Object.entries(metadata).filter(([name]) => !serverFields.includes(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

export interface Applied {
  readonly entry: Entry;
  readonly place: Place;
}

/** @param manager who owns the fields from then on */
export async function applyObject(
  writing: Writing,
  value: JsonObject & { readonly metadata: JsonObject },
  manager: string,
  part: 'main' | 'status' = 'main',
): Promise<Applied> {
  const place = placeOf(writing.registry, value as never);
  if (place.kind.namespaced) value.metadata.namespace ??= place.namespace;
  const patch = { value, duplicates: [], force: true };
  const request = administratorRequest('patch', manager, true);
  const { entry } = await apply(writing, request, { ...place, part }, patch, () => undefined);
  return { entry, place };
}

export const administratorRequest = (verb: 'create' | 'patch', manager: string, isApply: boolean): Request =>
  new Request({
    user: administrator,
    verb,
    userAgent: manager,
    fieldManager: manager,
    isApply,
    fieldValidation: 'Strict',
  });
