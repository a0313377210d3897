/**
 * Input: decodes a request body as an object of a kind. Unknown and duplicate fields are refused, warned about or
 * dropped, as the request's `fieldValidation` says.
 */

import { badRequest, invalid, invalidPatch } from '../api/errors/errors.ts';
import { invalid as invalidField } from '../api/errors/field-error.ts';
import { findingsInOrder } from '../api/errors/field-paths.ts';
import type { KindTable } from '../api/kinds/kinds.ts';
import { DecodeError, decodeObject } from '../api/model/decode.ts';
import type { Model } from '../api/model/model.ts';
import { withWrappedIntegers } from '../api/model/wrapped-integers.ts';
import { conversionProblem } from '../api/patch/conversion-problem.ts';
import type { Duplicate } from '../api/text/json.ts';
import { jsonText } from '../api/text/json-text.ts';
import { type ApiObject, isJsonObject, type JsonObject } from '../api/text/object.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Maximum number of characters of a body that an error quotes. */
const quotedMax = 65_536;
/** Maximum number of bytes of a body shown in an error as a summary. */
const summaryMax = 30;
const openingBrace = 0x7b;

/** A parsed body. */
export interface Input {
  readonly value: unknown;
  /** Paths of duplicate keys. */
  readonly duplicates: readonly Duplicate[];
  /** Length of the body, set only if it is so long that other work should run between passes over it. */
  readonly bytes?: number;
  /** The body as it was sent, for errors that quote its beginning. */
  readonly sent?: Buffer;
}

export interface ReadOptions {
  readonly fieldValidation: FieldValidation;
  /** Texts for Warning headers are added here. */
  readonly warnings: string[];
}

/** Kind and version that a body must have; for subresources such as Scale that differs from the stored kind. */
export interface Expected {
  readonly kind: string;
  readonly apiVersion: string;
  readonly model: Model;
  readonly custom?: boolean;
  /** Removes what the object may not contain beyond its model; see `Kind.prune`. */
  prune?(object: ApiObject, unknown: string[]): void;
}

/** Decodes the body of a create or replace. Kind and apiVersion default to those of the path. */
export function readObject(
  kinds: KindTable,
  expected: Expected,
  input: Input,
  options: ReadOptions,
): ApiObject {
  const value = input.value;
  if (!isJsonObject(value))
    throw noKind(
      expected,
      `cannot unmarshal ${Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value} into Go value of type struct { APIVersion string; Kind string }`,
      input,
    );
  if (expected.custom) checkCustomKind(expected, value, input);
  else checkKind(kinds, expected, value, input);
  const version = expected.apiVersion.slice(expected.apiVersion.indexOf('/') + 1);
  const handled = `${expected.kind} in version "${version}" cannot be handled as a ${expected.kind}`;
  try {
    return decodeStrictly(expected, input, options);
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`${handled}: ${error.message}`);
    throw error;
  }
}

/** The result of a patch, and how problems with it are reported. */
export interface Patched {
  readonly value: unknown;
  /** Paths of duplicate keys in the patch. */
  readonly duplicates: readonly Duplicate[];
  /** Problems found in the patch itself. */
  readonly findings: readonly string[];
  /**
   * Whether it is a strategic merge patch, which Kubernetes converts instead of decoding, with other error messages.
   */
  readonly isConverted: boolean;
  /** What errors quote: the object, or the strategic merge patch. */
  quoted(): string;
}

/** Decodes the object that results from a patch. */
export function readPatched(expected: Expected, patched: Patched, options: ReadOptions): ApiObject {
  const { value, isConverted } = patched;
  if (expected.custom && isJsonObject(value)) checkCustomKind(expected, value, {});
  try {
    return isConverted ? convert(expected, patched, options) : decodeStrictly(expected, patched, options);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalidPatch(patched.quoted(), error.message);
  }
}

/**
 * Converts the result of a strategic merge patch. Numbers that are too large for their fields are truncated, as in Go.
 */
function convert(expected: Expected, patched: Patched, options: ReadOptions): ApiObject {
  try {
    return decodeStrictly(expected, patched, options);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const value = patched.value as JsonObject;
    const problem = conversionProblem(expected.model, value);
    if (problem) throw new DecodeError(problem);
    return decodeStrictly(
      expected,
      { ...patched, value: withWrappedIntegers(expected.model, value) },
      options,
    );
  }
}

function decodeStrictly(
  expected: Expected,
  input: Input & Partial<Patched>,
  options: ReadOptions,
): ApiObject {
  const unknown: string[] = [];
  const object = decodeObject(expected.model, input.value, unknown) as unknown as ApiObject;
  expected.prune?.(object, unknown);
  object.kind = expected.kind;
  object.apiVersion = expected.apiVersion;
  const findings = findingsOf(input, unknown, options);
  if (findings.length && options.fieldValidation === 'Strict')
    throw new DecodeError(`strict decoding error: ${findings.join(', ')}`);
  options.warnings.push(...findings);
  return object;
}

function findingsOf(
  { value, duplicates, findings = [], isConverted }: Input & Partial<Patched>,
  unknown: readonly string[],
  { fieldValidation }: ReadOptions,
): readonly string[] {
  if (fieldValidation === 'Ignore' || !(unknown.length || duplicates.length)) return findings;
  // Report the problems of the patch first; the fields of its result are sorted.
  if (isConverted)
    return [...findingsInOrder(value, duplicates, []), ...findingsInOrder(value, [], [...unknown].sort())];
  const others = duplicates.filter(({ path }) => !unknown.includes(path));
  return [...findings, ...findingsInOrder(value, others, unknown)];
}

/** The error for a body whose kind and version cannot be read. */
const noKind = (expected: Expected, why: string, { value, sent }: Input): Error =>
  badRequest(
    `the object provided is unrecognized (must be of type ${expected.kind}): couldn't get version/kind; json parse error: json: ${why} (${summaryOf(sent ?? Buffer.from(jsonText(value)))})`,
  );

/** The beginning of a body in an error, as Kubernetes shows it: JSON as text, all else in hexadecimal digits. */
export function summaryOf(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>';
  const start = bytes.subarray(0, summaryMax).toString(bytes[0] === openingBrace ? 'utf8' : 'hex');
  return bytes.length > summaryMax ? `${start} ...` : start;
}

function checkKind(
  kinds: KindTable,
  expected: Expected,
  { kind, apiVersion }: JsonObject,
  input: Input,
): void {
  for (const [name, value] of [
    ['kind', kind],
    ['apiVersion', apiVersion],
  ] as const)
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw noKind(
        expected,
        `cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go struct field .${name} of type string`,
        input,
      );
  const sentKind = (kind as string) || expected.kind;
  const sentVersion = (apiVersion as string) || expected.apiVersion;
  if (sentKind === expected.kind && sentVersion === expected.apiVersion) return;
  const version = sentVersion.slice(sentVersion.indexOf('/') + 1);
  const known = kinds.kind(sentVersion, sentKind);
  const why = known
    ? `converting (${version}.${sentKind}) to (${groupText(expected.apiVersion)}.${expected.kind}): unknown conversion`
    : `no kind "${sentKind}" is registered for version "${sentVersion}" in scheme "wherry"`;
  throw badRequest(`${sentKind} in version "${version}" cannot be handled as a ${expected.kind}: ${why}`);
}

/**
 * Checks kind and version of custom objects, which must be given. In Kubernetes, validation finds a wrong kind, hence
 * the 422.
 */
function checkCustomKind(expected: Expected, value: JsonObject, { sent }: Pick<Input, 'sent'>): void {
  const { kind, apiVersion } = value;
  if (!kind) {
    const text = jsonText(value).slice(0, quotedMax);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): Object 'Kind' is missing in '${text}' (${summaryOf(sent ?? Buffer.from(text))})`,
    );
  }
  if (apiVersion !== expected.apiVersion)
    throw badRequest(
      `the API version in the data (${apiVersion ?? ''}) does not match the expected API version (${expected.apiVersion})`,
    );
  if (kind === expected.kind) return;
  const { name } = (isJsonObject(value.metadata) ? value.metadata : {}) as { name?: unknown };
  const group = groupText(expected.apiVersion);
  throw invalid({ kind: String(kind), group }, typeof name === 'string' ? name : '', [
    invalidField('kind', kind, `must be ${expected.kind}`),
  ]);
}

const groupText = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : 'core';
