/** For tests of kinds: runs the hooks of a kind in the order of the registry. */

import type { FieldError, FieldErrorReason } from '../errors/field-error.ts';
import type { Kind } from '../kind/kind.ts';
import { decodeObject } from '../model/decode.ts';
import { encodeObject } from '../model/encode.ts';
import type { ApiObject, JsonObject } from '../text/object.ts';
import { shownCell } from '../values/elapsed.ts';

export const nowText = '2024-05-01T12:00:00Z';
export const nowMs = Date.parse(nowText);
/** Two minutes and five seconds earlier. */
export const createdText = '2024-05-01T11:57:55Z';
export const createdAge = '2m5s';

/** A body after decoding and defaulting. It gets a name and a namespace, when it has none. */
export function read(kind: Kind, body: object): ApiObject {
  const metadata = { name: 'a', ...(kind.namespaced ? { namespace: 'ns1' } : {}), ...metadataOf(body) };
  const object = decodeObject(kind.model, { ...body, metadata }) as unknown as ApiObject;
  kind.defaults?.(object);
  return object;
}

const metadataOf = (body: object): object => (body as { metadata?: object }).metadata ?? {};

/** The result of the hooks of a create. */
export function created(kind: Kind, body: object): ApiObject {
  const object = read(kind, body);
  kind.defaultsOfNew?.(object);
  object.metadata.uid ??= 'uid-1';
  object.metadata.creationTimestamp ??= createdText;
  if (kind.hasStatus && !kind.keepStatusOnCreate) object.status = undefined;
  kind.prepareForCreate?.(object, { now: nowText });
  return object;
}

/** The same, decoded from the stored text. */
export const stored = (kind: Kind, object: ApiObject): ApiObject =>
  JSON.parse(encodeObject(kind.model, object as unknown as JsonObject)) as ApiObject;

export const written = (kind: Kind, body: object): ApiObject => stored(kind, created(kind, body));

export const createErrors = (kind: Kind, body: object): FieldError[] =>
  kind.validate?.(created(kind, body)) ?? [];

/** An update of `old`; `old` is a body or a stored object. */
export function updated(kind: Kind, body: object, old: ApiObject): ApiObject {
  const object = read(kind, body);
  if (kind.hasStatus) object.status = structuredClone(old.status);
  object.metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  kind.prepareForUpdate?.(object, old, { now: nowText });
  return object;
}

export function updateErrors(kind: Kind, body: object, oldBody: object): FieldError[] {
  const old = written(kind, oldBody);
  const object = updated(kind, body, old);
  return [...(kind.validate?.(object, old) ?? []), ...(kind.validateUpdate?.(object, old) ?? [])];
}

/** A write of the status of `old`. */
export function statusUpdated(kind: Kind, body: object, old: ApiObject): ApiObject {
  const object = read(kind, body);
  object.spec = structuredClone(old.spec);
  object.metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  kind.changes.status?.prepare?.(object, old, { now: nowText });
  return object;
}

export function statusErrors(kind: Kind, body: object, oldBody: object = {}): FieldError[] {
  const old = written(kind, oldBody);
  return kind.changes.status?.validate?.(statusUpdated(kind, body, old), old) ?? [];
}

/** The cells of a table row, as they are shown at a time. */
export const shownCells = (kind: Kind, object: ApiObject, atMs: number): unknown[] =>
  kind.cells!(object).map((cell) => shownCell(cell, atMs));

/** The cells of a table row, by column. Wide columns have `*` in front. */
export function cells(kind: Kind, body: object): Record<string, unknown> {
  const object = read(kind, {
    ...body,
    metadata: { creationTimestamp: createdText, ...metadataOf(body) },
  });
  const values = shownCells(kind, stored(kind, object), nowMs);
  const names = kind.columns!.map(({ name, wide }) => (wide ? `*${name}` : name));
  if (values.length !== names.length) throw new Error(`${values.length} cells for ${names.length} columns`);
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}

const reasons = {
  R: 'FieldValueRequired',
  I: 'FieldValueInvalid',
  N: 'FieldValueNotSupported',
  D: 'FieldValueDuplicate',
  F: 'FieldValueForbidden',
  TL: 'FieldValueTooLong',
} as const satisfies Record<string, FieldErrorReason>;

/** An error in the notation of the contract's tables: letter, path, message. */
export const error = (letter: keyof typeof reasons, field: string, message: string): FieldError => ({
  field,
  reason: reasons[letter],
  message,
});

/** Messages of the name checks that tests of kinds use. */
export const texts = {
  label:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  subdomain:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  wildcard:
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  qualified:
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  configKey:
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
  labelValue:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ip: 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  cidr: 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  notNegative: 'must be greater than or equal to 0',
};
