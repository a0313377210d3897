/**
 * Field errors: what validation finds wrong, in Kubernetes' words (`spec.replicas: Invalid value: -1: …`).
 * A path is text: join with `child`, `index` and `key`.
 */
import { goNumber } from '../text/go-number.ts';
import { jsonText } from '../text/json-text.ts';
import { htmlSafe } from '../text/string-text.ts';

export type FieldErrorReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

export interface FieldError {
  readonly field: string;
  readonly reason: FieldErrorReason;
  /** The text without the field, such as `Required value: name or generateName is required`. */
  readonly message: string;
}

export const required = (field: string, detail = ''): FieldError => ({
  field,
  reason: 'FieldValueRequired',
  message: detail ? `Required value: ${detail}` : 'Required value',
});

export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${shown(value)}${detail ? `: ${detail}` : ''}`,
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((item) => JSON.stringify(item)).join(', ')}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${shown(value)}`,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${detail}`,
});

export const notFound = (field: string, value: unknown): FieldError => ({
  field,
  reason: 'FieldValueNotFound',
  message: `Not found: ${shown(value)}`,
});

/** The same error, listing what could have been found. */
export const notFoundIn = (field: string, value: unknown, detail: string): FieldError => ({
  field,
  reason: 'FieldValueNotFound',
  message: `Not found: ${shown(value)}: ${detail}`,
});

export const tooLong = (field: string, bytesMax: number | bigint): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${counted(bytesMax, 'byte')}`,
});

export const tooMany = (field: string, count: number, countMax: number | bigint): FieldError => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${counted(countMax, 'item')}`,
});

const counted = (count: number | bigint, what: string): string =>
  `${count} ${what}${Number(count) === 1 ? '' : 's'}`;

export const child = (path: string, name: string): string => (path ? `${path}.${name}` : name);
export const index = (path: string, position: number): string => `${path}[${position}]`;
export const key = (path: string, name: string): string => `${path}[${name}]`;

/** Strings are quoted, numbers and booleans bare, everything else is JSON as Go writes it. */
function shown(value: unknown): string {
  if (value === undefined) return 'null';
  if (typeof value === 'number' || typeof value === 'bigint') return goNumber(value);
  return typeof value === 'object' ? htmlSafe(jsonText(value)) : jsonText(value);
}
