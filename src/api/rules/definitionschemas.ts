/** The schemas of the versions of a custom kind. */
import type { CustomResourceDefinition, CustomResourceDefinitionSpec } from '../generated/types.ts';
import type { Findings } from './findings.ts';

export function* schemasErrors(
  _spec: CustomResourceDefinitionSpec,
  _old: CustomResourceDefinitionSpec | undefined,
): Findings {}

export const unknownFormatWarnings = (
  _definition: CustomResourceDefinition,
  _old: CustomResourceDefinition | undefined,
): string[] => [];
