/** Where the scale subresource of a custom kind finds its numbers, by paths such as `.spec.replicas`. */

import { goFormat, goType } from '../model/go-format.ts';
import { isJsonObject, type JsonObject, setKey } from '../text/object.ts';

export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector: string | undefined;
}

export const scaleNames = (path: string): string[] => path.split('.').slice(1);

/**
 * Reads the value at a path: undefined when the path ends early, a text when something on the path is not an object.
 */
export function readAt(object: unknown, path: string): { value: unknown } | { problem: string } | undefined {
  const names = scaleNames(path);
  let value = object;
  for (const [i, name] of names.entries()) {
    if (value === null) return undefined;
    if (!isJsonObject(value))
      return { problem: accessProblem(names.slice(0, i + 1), value, 'map[string]interface {}') };
    if (!Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return { value };
}

/** The text of Go's helpers for a value of another type: `.spec.replicas accessor error: three is of the type string, …`. */
export function accessProblem(names: readonly string[], value: unknown, expected: string): string {
  const type = value === null ? '<nil>' : goType(value);
  return `.${names.join('.')} accessor error: ${goFormat(value)} is of the type ${type}, expected ${expected}`;
}

/** Sets a value, with the objects on the way to it. */
export function setValueAt(object: object, names: readonly string[], value: unknown): void {
  let at = object as JsonObject;
  for (const name of names.slice(0, -1)) {
    const inner = Object.hasOwn(at, name) ? at[name] : undefined;
    const next: JsonObject = isJsonObject(inner) ? { ...inner } : {};
    setKey(at, name, next);
    at = next;
  }
  setKey(at, names.at(-1)!, value);
}
