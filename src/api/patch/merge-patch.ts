/**
 * JSON merge patch (RFC 7386): objects are merged, null deletes, everything else (lists too) is replaced. The result
 * shares unchanged parts with document and patch, so it must not be modified.
 */

import { undecodable } from '../errors/patch-error.ts';
import { cannotUnmarshal } from '../model/go-format.ts';
import { isJsonObject, type JsonObject, setKey } from '../text/object.ts';

/** The RFC allows any JSON value as a patch. Kubernetes accepts only an object, since everything it stores is one. */
export function applyMergePatch(document: unknown, patch: unknown): JsonObject {
  if (patch === null) throw undecodable('Invalid JSON Patch');
  if (!isJsonObject(patch))
    throw undecodable(
      `error decoding patch: ${cannotUnmarshal(patch, 'value of type map[string]interface {}')}`,
    );
  return merge(document, patch);
}

function merge(target: unknown, patch: JsonObject): JsonObject {
  const result: JsonObject = {};
  const before = isJsonObject(target) ? target : {};
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(patch, key)) setKey(result, key, before[key]);
    else if (patch[key] !== null) setKey(result, key, merged(before[key], patch[key]));
  }
  for (const key of Object.keys(patch)) {
    if (patch[key] !== null && !Object.hasOwn(before, key))
      setKey(result, key, merged(undefined, patch[key]));
  }
  return result;
}

function merged(before: unknown, patch: unknown): unknown {
  if (isJsonObject(patch)) return merge(before, patch);
  // Beyond the RFC, Kubernetes leaves out nulls of the objects in a list, unless an object was there before.
  return Array.isArray(patch) && !isJsonObject(before) ? pruned(patch) : patch;
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned);
  return isJsonObject(value) ? merge(undefined, value) : value;
}
