/** Config data: the keys and bytes that Secrets and ConfigMaps hold, and the rules the two share. */
import { type FieldError, forbidden, key } from '../../errors/field-error.ts';
import { isConfigKey } from '../../values/names.ts';
import { type Findings, problemsOf } from './findings.ts';

/** Bytes of all values of one object together. */
export const dataBytesMax = 1_048_576;

type DataMap = Readonly<Record<string, string>>;

export function* dataKeyErrors(map: DataMap | undefined, path: string): Findings {
  for (const name of Object.keys(map ?? {})) yield* problemsOf(key(path, name), name, isConfigKey(name));
}

/** Decoded length of base64 text; decoding has checked that it is padded and without line breaks. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** Total size of a data map; `sizeOf` measures one value. */
export function dataBytes(map: DataMap | undefined, sizeOf: (value: string) => number): number {
  let bytes = 0;
  for (const value of Object.values(map ?? {})) bytes += sizeOf(value);
  return bytes;
}

/** An immutable object keeps its data, and stays immutable. */
export function immutableErrors<Field extends string>(
  object: { immutable?: boolean } & Partial<Record<Field, DataMap>>,
  old: { immutable?: boolean } & Partial<Record<Field, DataMap>>,
  fields: readonly Field[],
): FieldError[] {
  if (!old.immutable) return [];
  const changed: string[] = fields.filter((field) => !sameData(object[field], old[field]));
  if (!object.immutable) changed.unshift('immutable');
  return changed.map((field) => forbidden(field, 'field is immutable when `immutable` is set'));
}

/** An exact comparison: a key with an empty value differs from a missing key, because it becomes a file. */
function sameData(a: DataMap | undefined, b: DataMap | undefined): boolean {
  const names = Object.keys(a ?? {});
  if (names.length !== Object.keys(b ?? {}).length) return false;
  return names.every((name) => Object.hasOwn(b!, name) && a![name] === b![name]);
}
