/**
 * The inner form of a definition: the older shape in which Kubernetes keeps one, and in which errors show it. What all
 * versions have in common stands beside the versions there, and its errors are reported at that place.
 */

import type { CustomResourceDefinitionSpec, CustomResourceDefinitionVersion } from '../../generated/types.ts';
import { jsonText } from '../../text/json-text.ts';
import { withSortedKeys } from '../../text/object.ts';
import { htmlSafe } from '../../text/string-text.ts';

export type HoistedPart = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

const outerNames: Readonly<Record<HoistedPart, string>> = {
  schema: 'validation',
  subresources: 'subresources',
  additionalPrinterColumns: 'additionalPrinterColumns',
  selectableFields: 'selectableFields',
};

const textOf = (version: CustomResourceDefinitionVersion, part: HoistedPart): string =>
  jsonText(withSortedKeys(version[part] ?? null));

/** Whether all versions have the same. */
export function isHoisted({ versions = [] }: CustomResourceDefinitionSpec, part: HoistedPart): boolean {
  if (versions.length < 2) return true;
  const first = textOf(versions[0]!, part);
  return versions.every((version) => textOf(version, part) === first);
}

/** Each value of a part, with the path at which its errors are reported; a common one is there once. */
export function partsOf<Part extends HoistedPart>(
  spec: CustomResourceDefinitionSpec,
  part: Part,
): { path: string; version: CustomResourceDefinitionVersion }[] {
  const { versions = [] } = spec;
  if (!isHoisted(spec, part))
    return versions.map((version, i) => ({ path: `spec.versions[${i}].${part}`, version }));
  return versions.slice(0, 1).map((version) => ({ path: `spec.${outerNames[part]}`, version }));
}

/** The versions as JSON of the inner form. */
export function innerVersions(spec: CustomResourceDefinitionSpec): string {
  const shown = (version: CustomResourceDefinitionVersion, part: HoistedPart): unknown =>
    isHoisted(spec, part) ? null : capitalized(version[part] ?? null);
  const versions = (spec.versions ?? []).map((version) => ({
    Name: version.name ?? '',
    Served: version.served ?? false,
    Storage: version.storage ?? false,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: shown(version, 'schema'),
    Subresources: shown(version, 'subresources'),
    AdditionalPrinterColumns: shown(version, 'additionalPrinterColumns'),
    SelectableFields: shown(version, 'selectableFields'),
  }));
  return htmlSafe(jsonText(versions));
}

/** Keys as Go's fields are called. */
function capitalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(capitalized);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.charAt(0).toUpperCase() + name.slice(1),
      capitalized(inner),
    ]),
  );
}
