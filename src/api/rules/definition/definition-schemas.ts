/** The schemas of the versions of a custom kind. */

import { checkSchema, formatWarnings, schemaCheck } from '../../custom-schema/schema-check.ts';
import type { FieldError } from '../../errors/field-error.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionSpec } from '../../generated/types.ts';
import type { Schema, SchemaCheckOptions } from '../../model/json-schema.ts';
import type { Findings } from '../shared/findings.ts';
import { partsOf } from './definition-inner-form.ts';

/** What was found in schemas ahead of their validation. */
const checked = new WeakMap<Schema, FieldError[]>();

export function* schemasErrors(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): Findings {
  for (const { schema, path, options } of checksOf(spec, old))
    yield* checked.get(schema) ?? checkSchema(schema, path, options);
}

/** Checks all schemas in slices, ahead of the validation, which then knows what is wrong with them. */
export function* schemasPreparation(
  { spec = {} }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): Generator<number, void> {
  for (const { schema, path, options } of checksOf(spec, old?.spec))
    checked.set(schema, yield* schemaCheck(schema, path, options));
}

/** The schemas of a definition. One that versions share is checked once. */
function* checksOf(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): Generator<{ schema: Schema; path: string; options: SchemaCheckOptions }> {
  const oldSchemas = old && schemasOf(old);
  for (const { path, version } of partsOf(spec, 'schema')) {
    const schema = version.schema?.openAPIV3Schema as Schema | undefined;
    if (!schema) continue;
    // A schema that several versions share is held to the rules of those with a status.
    const statusEnabled = (spec.versions ?? []).some(
      (other) => other.subresources?.status && (path === hoisted || other === version),
    );
    yield {
      schema,
      path: `${path}.openAPIV3Schema`,
      options: { statusEnabled, ...(oldSchemas ? { oldSchemas } : {}) },
    };
  }
}

const hoisted = 'spec.validation';

export const schemasOf = ({ versions = [] }: CustomResourceDefinitionSpec): Schema[] =>
  versions.flatMap(({ schema }) => (schema?.openAPIV3Schema ? [schema.openAPIV3Schema as Schema] : []));

/** Texts about formats that nothing checks, for each schema, also when versions share it. */
export const unknownFormatWarnings = (
  { spec = {} }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): string[] => schemasOf(spec).flatMap((schema) => formatWarnings(schema, old?.spec && schemasOf(old.spec)));
