/** Where the scale subresource of a custom kind finds its numbers, by paths such as `.spec.replicas`. */

import { jsonText } from './jsontext.ts';
import { isJsonObject, type JsonObject, setKey } from './object.ts';

export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector: string | undefined;
}

export const scaleNames = (path: string): string[] => path.split('.').slice(1);

/** A value as Go's errors show it: `three is of the type string`. */
export function goTyped(value: unknown): string {
  if (typeof value === 'string') return `${value} is of the type string`;
  if (typeof value === 'boolean') return `${value} is of the type bool`;
  if (typeof value === 'number') return `${value} is of the type float64`;
  return `${jsonText(value)} is of the type ${Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'}`;
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
