/** Cases for the rules of pods: how the tests make a pod and list its errors. */
import { expect, test } from 'vitest';
import type { FieldError, FieldErrorReason } from '../../errors/field-error.ts';
import type { Pod } from '../../generated/types.ts';
import type { Kind } from '../../kind/kind.ts';
import { decodeObject } from '../../model/decode.ts';
import { encodeObject } from '../../model/encode.ts';
import type { ApiObject, JsonObject } from '../../text/object.ts';
import { pod } from './pod.ts';

export const now = '2024-05-01T12:00:00Z';
export const uid = '11111111-2222-4333-8444-555555555555';

/** The letters of the tables in kinds.md. */
type Letter = 'R' | 'I' | 'N' | 'D' | 'F' | 'NF' | 'TL';
const letters: Partial<Record<FieldErrorReason, Letter>> = {
  FieldValueRequired: 'R',
  FieldValueInvalid: 'I',
  FieldValueNotSupported: 'N',
  FieldValueDuplicate: 'D',
  FieldValueForbidden: 'F',
  FieldValueNotFound: 'NF',
  FieldValueTooLong: 'TL',
};

export type Expected = readonly [field: string, letter: Letter, message: string];

export const brief = (errors: readonly FieldError[]): (readonly [string, string | undefined, string])[] =>
  errors.map(({ field, reason, message }) => [field, letters[reason], message]);

/** A body after decoding, defaulting and preparation. */
export function made<T extends ApiObject>(kind: Kind, body: object): T {
  const object = decodeObject(kind.model, body) as unknown as ApiObject;
  kind.defaults?.(object);
  object.metadata.uid = uid;
  object.metadata.creationTimestamp = now;
  if (kind.generationOf) object.metadata.generation = 1;
  if (kind.hasStatus) object.status = undefined;
  kind.prepareForCreate?.(object, { now });
  return object as T;
}

/** An object as the store gives it back. */
export const stored = <T extends ApiObject>(kind: Kind, object: ApiObject): T =>
  JSON.parse(encodeObject(kind.model, object as unknown as JsonObject)) as T;

export const container = (fields: object = {}): object => ({ name: 'c', image: 'i:1', ...fields });

export const makePod = (spec: object, metadata: object = {}): Pod =>
  made(pod, { metadata: { name: 'x', ...metadata }, spec: { containers: [container()], ...spec } });

export const podErrors = (spec: object, metadata: object = {}) =>
  brief(pod.validate!(makePod(spec, metadata)));

/** One line of a table: a name, the fields that differ from a valid pod spec, and the expected errors. */
export type Case = readonly [name: string, spec: object, ...errors: Expected[]];

export function testSpecs(cases: readonly Case[]): void {
  test.each(cases.map(([name, spec, ...errors]) => ({ name, spec, errors })))('$name', ({ spec, errors }) => {
    expect(podErrors(spec)).toEqual(errors);
  });
}

/** The same for fields of the pod's only container. */
export function testContainers(cases: readonly Case[]): void {
  testSpecs(
    cases.map(([name, fields, ...errors]): Case => [name, { containers: [container(fields)] }, ...errors]),
  );
}
