/** The schemas of the versions of a custom kind. */
import type { Schema } from '../customschema/schema.ts';
import { checkSchema, formatWarnings } from '../customschema/schemacheck.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionSpec } from '../generated/types.ts';
import { partsOf } from './definitioninnerform.ts';
import type { Findings } from './findings.ts';

export function* schemasErrors(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): Findings {
  const oldSchemas = old && schemasOf(old);
  for (const { path, version } of partsOf(spec, 'schema')) {
    const schema = version.schema?.openAPIV3Schema as Schema | undefined;
    if (!schema) continue;
    // A schema that several versions share is held to the rules of those with a status.
    const statusEnabled = (spec.versions ?? []).some(
      (other) => other.subresources?.status && (path === hoisted || other === version),
    );
    yield* checkSchema(schema, `${path}.openAPIV3Schema`, {
      statusEnabled,
      ...(oldSchemas ? { oldSchemas } : {}),
    });
  }
}

const hoisted = 'spec.validation';

export const schemasOf = ({ versions = [] }: CustomResourceDefinitionSpec): Schema[] =>
  versions.flatMap(({ schema }) => (schema?.openAPIV3Schema ? [schema.openAPIV3Schema as Schema] : []));

/** Texts about formats that nothing checks; each schema is told about, also when versions share it. */
export const unknownFormatWarnings = (
  { spec = {} }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): string[] => schemasOf(spec).flatMap((schema) => formatWarnings(schema, old?.spec && schemasOf(old.spec)));
