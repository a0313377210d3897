/**
 * Go's formatting of JSON values, in error messages that clients show and sometimes match: `map[image:q name:<nil>]`,
 * `[a b]`, `map[string]interface {}`.
 */

import { isInt64 } from '../text/exact-json.ts';
import { goNumber } from '../text/go-number.ts';
import { isJsonObject } from '../text/object.ts';
import { jsonType } from './decode.ts';

/** Characters of one formatted value. Kubernetes has no such limit; here messages do not repeat whole bodies. */
export const formatCharsMax = 4096;

/** Formats like Go's `%v`. Longer text ends in `...`. */
export function goFormat(value: unknown, charsMax = formatCharsMax): string {
  const parts: string[] = [];
  let left = charsMax;
  const put = (text: string): boolean => {
    parts.push(text.length > left ? text.slice(0, left) : text);
    left -= text.length;
    return left >= 0;
  };
  const members = (open: string, count: number, member: (index: number) => boolean): boolean => {
    if (!put(open)) return false;
    for (let index = 0; index < count; index += 1) {
      if ((index > 0 && !put(' ')) || !member(index)) return false;
    }
    return put(']');
  };
  // Stops at the first part that does not fit, so a huge value costs no more than the limit.
  const write = (inner: unknown): boolean => {
    if (Array.isArray(inner)) return members('[', inner.length, (index) => write(inner[index]));
    if (!isJsonObject(inner)) return put(scalarText(inner));
    const keys = Object.keys(inner).sort();
    return members('map[', keys.length, (index) => put(`${keys[index]}:`) && write(inner[keys[index]!]));
  };
  return write(value) ? parts.join('') : `${parts.join('')}...`;
}

function scalarText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  return typeof value === 'number' || typeof value === 'bigint' ? goNumber(value) : String(value);
}

/** Formats like `%s`, which marks every value that is no string as an error. */
export function goFormatText(value: unknown): string {
  if (value === null) return '%!s(<nil>)';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `%!s(${goType(value)}=${goFormat(value)})`;
  return goFormat(value);
}

/** The Go type that JSON is decoded into, as `%T` and reflect.Type show it. */
export function goType(value: unknown): string {
  switch (goKind(value)) {
    case 'slice':
      return '[]interface {}';
    case 'map':
      return 'map[string]interface {}';
    case 'invalid':
      return '%!s(<nil>)';
    default:
      return goKind(value);
  }
}

/** The reflect.Kind of that type. */
export function goKind(value: unknown): string {
  if (value === null || value === undefined) return 'invalid';
  if (Array.isArray(value)) return 'slice';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return isInt64(value) ? 'int64' : 'float64';
    case 'string':
      return 'string';
    default:
      return 'map';
  }
}

/** The message of encoding/json for a value that does not fit its target. */
export function cannotUnmarshal(value: unknown, target: string): string {
  return `json: cannot unmarshal ${jsonType(value)} into Go ${target}`;
}

/** Formats like `%#v`: strings quoted, lists and maps with their types. */
export function goValue(value: unknown): string {
  const text = goSyntax(value);
  return text.length > formatCharsMax ? `${text.slice(0, formatCharsMax)}...` : text;
}

function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isJsonObject(value)) return typeof value === 'string' ? JSON.stringify(value) : scalarText(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${goSyntax(value[name])}`);
  return `map[string]interface {}{${members.join(', ')}}`;
}

/** Escapes of Go's `%q` that JSON does not have. */
const goEscapes: Readonly<Record<string, string>> = { '\u0007': '\\a', '\u000b': '\\v' };

/** Text in quotes, as `%q` writes it. */
export const goQuoted = (text: string): string =>
  `"${[...text]
    .map((character) => {
      const code = character.codePointAt(0)!;
      if (goEscapes[character]) return goEscapes[character];
      if (code === 0x7f || (code < 0x20 && !'\b\f\n\r\t'.includes(character)))
        return `\\x${code.toString(16).padStart(2, '0')}`;
      return JSON.stringify(character).slice(1, -1);
    })
    .join('')}"`;
