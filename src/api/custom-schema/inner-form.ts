/**
 * The inner form of schemas and rules: how Go prints the structs in which Kubernetes keeps them. Errors that quote a
 * whole schema or rule show it.
 */
import type { Schema, ValidationRule } from '../model/json-schema.ts';
import { jsonText } from '../text/json-text.ts';
import { htmlSafe } from '../text/string-text.ts';

export const innerSchemaText = (schema: Schema): string => htmlSafe(jsonText(innerSchema(schema)));

export const innerRuleText = (rule: ValidationRule): string => htmlSafe(jsonText(innerRule(rule)));

export const innerItemsText = (items: Schema['items']): string => htmlSafe(jsonText(innerItems(items)));

const innerRule = (rule: ValidationRule): unknown => ({
  Rule: rule.rule ?? '',
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

const innerSchema = (schema: Schema): unknown => ({
  ID: schema.id ?? '',
  Schema: schema.$schema ?? '',
  Ref: schema.$ref ?? null,
  Description: schema.description ?? '',
  Type: schema.type ?? '',
  Nullable: schema.nullable ?? false,
  Format: schema.format ?? '',
  Title: schema.title ?? '',
  Default: schema.default ?? null,
  Maximum: schema.maximum ?? null,
  ExclusiveMaximum: schema.exclusiveMaximum ?? false,
  Minimum: schema.minimum ?? null,
  ExclusiveMinimum: schema.exclusiveMinimum ?? false,
  MaxLength: schema.maxLength ?? null,
  MinLength: schema.minLength ?? null,
  Pattern: schema.pattern ?? '',
  MaxItems: schema.maxItems ?? null,
  MinItems: schema.minItems ?? null,
  UniqueItems: schema.uniqueItems ?? false,
  MultipleOf: schema.multipleOf ?? null,
  Enum: schema.enum ?? null,
  MaxProperties: schema.maxProperties ?? null,
  MinProperties: schema.minProperties ?? null,
  Required: schema.required ?? null,
  Items: innerItems(schema.items),
  AllOf: innerList(schema.allOf),
  OneOf: innerList(schema.oneOf),
  AnyOf: innerList(schema.anyOf),
  Not: schema.not ? innerSchema(schema.not) : null,
  Properties: innerMap(schema.properties),
  AdditionalProperties: innerChoice(schema.additionalProperties),
  PatternProperties: innerMap(schema.patternProperties),
  Dependencies: innerDependencies(schema.dependencies),
  AdditionalItems: innerChoice(schema.additionalItems),
  Definitions: innerMap(schema.definitions),
  ExternalDocs: schema.externalDocs
    ? { Description: schema.externalDocs.description ?? '', URL: schema.externalDocs.url ?? '' }
    : null,
  Example: schema.example ?? null,
  XPreserveUnknownFields: schema['x-kubernetes-preserve-unknown-fields'] ?? null,
  XEmbeddedResource: schema['x-kubernetes-embedded-resource'] ?? false,
  XIntOrString: schema['x-kubernetes-int-or-string'] ?? false,
  XListMapKeys: schema['x-kubernetes-list-map-keys'] ?? null,
  XListType: schema['x-kubernetes-list-type'] ?? null,
  XMapType: schema['x-kubernetes-map-type'] ?? null,
  XValidations: schema['x-kubernetes-validations']?.map(innerRule) ?? null,
});

const innerList = (schemas: readonly Schema[] | undefined): unknown => schemas?.map(innerSchema) ?? null;

/** Go writes maps with sorted keys. */
const innerMap = (schemas: Readonly<Record<string, Schema>> | undefined): unknown =>
  schemas
    ? Object.fromEntries(
        Object.keys(schemas)
          .sort()
          .map((name) => [name, innerSchema(schemas[name]!)]),
      )
    : null;

const innerItems = (items: Schema['items']): unknown => {
  if (!items) return null;
  return Array.isArray(items)
    ? { Schema: null, JSONSchemas: innerList(items) }
    : { Schema: innerSchema(items), JSONSchemas: null };
};

const innerChoice = (choice: Schema | boolean | undefined): unknown => {
  if (choice === undefined) return null;
  return typeof choice === 'boolean'
    ? { Allows: choice, Schema: null }
    : { Allows: true, Schema: innerSchema(choice) };
};

const innerDependencies = (dependencies: Schema['dependencies']): unknown =>
  dependencies
    ? Object.fromEntries(
        Object.entries(dependencies).map(([name, needed]) => [
          name,
          Array.isArray(needed)
            ? { Schema: null, Property: needed }
            : { Schema: innerSchema(needed), Property: null },
        ]),
      )
    : null;
