/** Rules about defaults: a default is pruned, and valid at its place. */

import { child, type FieldError, invalid, key } from '../errors/field-error.ts';
import { DecodeError } from '../model/decode.ts';
import type { Schema } from '../model/json-schema.ts';
import { cloneJson, type JsonObject } from '../text/object.ts';
import type { NodeFindings } from './bounded-errors.ts';
import { embeddedErrors } from './embedded-resources.ts';
import { isPruned, pruneValue } from './prune.ts';
import { isMetaField, itemsOf, nodeOf, SchemaNode } from './schema-node.ts';
import { compileValidator } from './validator.ts';

/** Checks the rules of a default's node. */
export type DefaultRules = (schema: Schema, value: unknown, path: string) => FieldError[];

interface Options {
  /** Whether defaults must be pruned: not, when the old definition had some that are not. */
  readonly pruned: boolean;
  readonly rules: DefaultRules;
}

/** For a node in the metadata or type of an embedded resource: builds the resource around a value. */
type Surrounding = (value: unknown) => JsonObject;

export function* defaultErrors(schema: Schema, path: string, options: Options): NodeFindings {
  yield* nodeErrors({ ...schema, 'x-kubernetes-embedded-resource': true }, path, options, undefined);
}

function* nodeErrors(
  schema: Schema,
  path: string,
  options: Options,
  around: Surrounding | undefined,
): NodeFindings {
  yield undefined;
  const { properties = {}, additionalProperties: additional } = schema;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const value = schema.default ?? undefined;
  if (value !== undefined) yield* valueErrors(schema, value, child(path, 'default'), options, around);
  const items = itemsOf(schema);
  if (items) yield* nodeErrors(items, child(path, 'items'), options, around && ((inner) => around([inner])));
  for (const name of Object.keys(properties)) {
    const inner = surroundingOf(name, embedded, around);
    yield* nodeErrors(properties[name]!, key(child(path, 'properties'), name), options, inner);
  }
  // Inside of metadata, defaults of entries are forbidden.
  if (typeof additional === 'object' && !around)
    yield* nodeErrors(additional, child(path, 'additionalProperties'), options, undefined);
}

function surroundingOf(
  name: string,
  embedded: boolean,
  around: Surrounding | undefined,
): Surrounding | undefined {
  if (embedded && isMetaField(name))
    return (value) => ({ apiVersion: 'validation/v1', kind: 'Validation', [name]: value });
  return embedded ? undefined : around && ((value) => around({ [name]: value }));
}

function* valueErrors(
  schema: Schema,
  value: unknown,
  path: string,
  options: Options,
  around: Surrounding | undefined,
): Generator<FieldError> {
  if (around) {
    const problem = metadataProblem(around(value));
    if (problem !== undefined) return yield invalid(path, value, `must result in valid metadata: ${problem}`);
  } else {
    const node = nodeOf(schema);
    if (options.pruned && !isPruned(value, node)) yield invalid(path, value, 'must not have unknown fields');
    const problems = resourceErrors(value, node, path);
    if (problems.length) return yield* problems;
  }
  const errors = compileValidator(schema).validate(value, undefined, path);
  yield* errors;
  if (errors.length === 0) yield* options.rules(schema, value, path);
}

/** A resource of which only type and metadata are known. */
const bareResource = new SchemaNode({
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  'x-kubernetes-preserve-unknown-fields': true,
});

function metadataProblem(resource: JsonObject): string | undefined {
  const copy = cloneJson(resource);
  const problem = decodeProblem(copy, bareResource);
  if (problem !== undefined) return problem;
  const [error] = embeddedErrors(copy, bareResource, false);
  return error && `${error.field}: ${error.message}`;
}

/** Errors of the types and metadata of embedded resources. */
function resourceErrors(value: unknown, node: SchemaNode, path: string): FieldError[] {
  if (!node.embeddedBelow) return [];
  const copy = cloneJson(value);
  const problem = decodeProblem(copy, node);
  if (problem === undefined) return embeddedErrors(copy, node, false, path);
  const [place = '', message = ''] = splitOnce(problem, ': ');
  const field = place.startsWith('[') ? `${path}${place}` : child(path, place);
  return [{ field, reason: 'FieldValueInvalid', message }];
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + separator.length)];
}

/** What is wrong with the types in the metadata of resources, as `metadata: Invalid value: …`. */
function decodeProblem(value: unknown, node: SchemaNode): string | undefined {
  try {
    pruneValue(value, node);
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return error.message;
  }
}
