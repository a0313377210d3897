/**
 * The check of a schema when its definition is created or updated. An update may keep what the old definition already
 * broke, because rules that came later must not lock it.
 */
import { type FieldError, forbidden, invalid } from '../errors/field-error.ts';
import { type Schema, type SchemaCheckOptions, schemaDepthMax } from '../model/json-schema.ts';
import { jsonText } from '../text/json-text.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { type DefaultRules, defaultErrors } from './default-rules.ts';
import { isFormatOf } from './formats.ts';
import { innerSchemaText } from './inner-form.ts';
import { hasValidType, type KeywordRules, keywordErrors, usesUnsupported } from './keyword-rules.ts';
import { keyPresenceErrors, setErrors } from './list-rules.ts';
import { isPruned } from './prune.ts';
import { preparedRules, ruleDefinitionErrors } from './rule-definitions.ts';
import { compileRules } from './rules.ts';
import { nodeOf } from './schema-node.ts';
import { innerSchemas, isDeeper, someSchema } from './schema-walk.ts';
import { structuralErrors } from './structural.ts';

/** @param path where the schema is in the definition (`spec.validation.openAPIV3Schema`) */
export function checkSchema(schema: Schema, path: string, options: SchemaCheckOptions): FieldError[] {
  const check = schemaCheck(schema, path, options);
  for (;;) {
    const { done, value } = check.next();
    if (done) return value;
  }
}

/** The same in slices; each `yield` tells about how many steps it took. */
export function* schemaCheck(
  schema: Schema,
  path: string,
  options: SchemaCheckOptions,
): Generator<number, FieldError[]> {
  if (isDeeper(schema, schemaDepthMax))
    return [invalid(path, '', `must not have more than ${schemaDepthMax} levels of schemas`)];
  const old = options.oldSchemas ?? [];
  const errors = new BoundedErrors();
  errors.addAll(rootErrors(schema, path, options.statusEnabled));
  const supported = !someSchema(schema, usesUnsupported);
  const structure = new BoundedErrors();
  if (supported && (yield* areStructural(old))) {
    structure.addAll(yield* structuralErrors(schema, path));
    const pruned = !old.some(hasUnprunedDefault);
    if (structure.list.length === 0)
      yield* structure.addInSlices(defaultErrors(schema, path, { pruned, rules: defaultRules }));
  }
  errors.addAll(structure.list);
  const keywords = new BoundedErrors();
  yield* keywords.addInSlices(keywordErrors(schema, path, keywordRules(old)));
  errors.addAll(keywords.list);
  // Types of rules come from the schema, so errors of a wrong schema would be misleading.
  if (supported && structure.list.length === 0) {
    yield* preparedRules(schema);
    const text = old.length ? jsonText(schema) : '';
    const isKept = old.some((one) => jsonText(one) === text);
    errors.addAll(ruleDefinitionErrors(schema, path, keywords.list, isKept));
  }
  return errors.list;
}

/** Rules that do not compile are reported elsewhere. */
const defaultRules: DefaultRules = (schema, value, path) => {
  const rules = compileRules(schema, schema['x-kubernetes-embedded-resource'] === true);
  return rules?.isSound ? rules.run(value, undefined, path).errors : [];
};

/** Texts of warnings about formats that are not checked; on update only those that are new in the definition. */
export function formatWarnings(schema: Schema, oldSchemas: readonly Schema[] = []): string[] {
  const known = new Set(oldSchemas.flatMap(unknownFormats));
  return unknownFormats(schema)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function unknownFormats(schema: Schema): string[] {
  const formats: string[] = [];
  const visit = (node: Schema): void => {
    if (node.format && !isFormatOf(node.type, node.format)) formats.push(node.format);
    for (const inner of innerSchemas(node)) visit(inner);
  };
  visit(schema);
  return formats;
}

/** Keywords that may stand at the root when the status is apart, named as Go's fields. */
const rootKeywords: ReadonlyMap<string, string> = new Map([
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
  ['x-kubernetes-validations', 'XValidations'],
]);

function* rootErrors(schema: Schema, path: string, statusEnabled: boolean): Generator<FieldError> {
  if (statusEnabled) {
    const isWrong = (name: string): boolean => {
      const value = schema[name as keyof Schema];
      return (
        !rootKeywords.has(name) && (isSet(value) || (name === 'additionalProperties' && value === false))
      );
    };
    // Kubernetes goes through the keywords in this order, and stops at the first that is wrong.
    const wrongBefore = ['id', '$schema', '$ref'].some(isWrong);
    if (!wrongBefore && schema.type && schema.type !== 'object')
      yield invalid(
        `${path}.type`,
        schema.type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      );
    else if (wrongBefore || Object.keys(schema).some(isWrong))
      yield {
        field: path,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${innerSchemaText(schema)}: only [${[...rootKeywords.values()].join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`,
      };
  }
  if (schema.nullable) yield forbidden(`${path}.nullable`, 'nullable cannot be true at the root');
}

const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0);

function* areStructural(schemas: readonly Schema[]): Generator<number, boolean> {
  for (const schema of schemas)
    if (someSchema(schema, usesUnsupported) || (yield* structuralErrors(schema, '')).length > 0) return false;
  return true;
}

const hasUnprunedDefault = (schema: Schema): boolean =>
  someSchema(
    schema,
    (node) => (node.default ?? undefined) !== undefined && !isPruned(node.default, nodeOf(node)),
  );

function keywordRules(old: readonly Schema[]): KeywordRules {
  const nobody = (test: (schema: Schema) => boolean): boolean =>
    !old.some((schema) => someSchema(schema, test));
  return {
    validTypes: nobody((schema) => !hasValidType(schema)),
    atomicSets: nobody((schema) => !setErrors(schema, '').next().done),
    keyPresence: nobody((schema) => !keyPresenceErrors(schema, '').next().done),
  };
}
