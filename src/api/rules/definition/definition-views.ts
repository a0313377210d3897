/** Columns, scale and selectable fields of a custom kind: the rules of what points into its objects. */
import { type FieldPath, pathText, readFieldPath } from '../../custom-schema/field-path.ts';
import { child, duplicate, index, invalid, required, tooMany } from '../../errors/field-error.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  SelectableField,
} from '../../generated/types.ts';
import type { Schema } from '../../model/json-schema.ts';
import { sameJson } from '../../text/object.ts';
import type { Findings } from '../shared/findings.ts';
import { isHoisted, partsOf } from './definition-inner-form.ts';

const selectableMax = 8;
const columnTypes: readonly string[] = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats: readonly string[] = [
  'byte',
  'date',
  'date-time',
  'double',
  'float',
  'int32',
  'int64',
  'password',
];
const selectableTypes: readonly string[] = ['string', 'boolean', 'integer'];
const notSimple = 'must be a simple json path starting with .';

export function* viewsErrors(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): Findings {
  for (const { path, version } of partsOf(spec, 'subresources'))
    if (version.subresources?.scale) yield* scaleErrors(version.subresources.scale, child(path, 'scale'));
  for (const { path, version } of partsOf(spec, 'additionalPrinterColumns'))
    for (const [i, column] of (version.additionalPrinterColumns ?? []).entries())
      yield* columnErrors(column, index(path, i));
  // Fields that are the same in all versions stand apart from schemas that are not, in the form in which Kubernetes
  // keeps a definition: it finds no schema beside them, and refuses them.
  for (const { path, version } of partsOf(spec, 'selectableFields'))
    yield* isHoisted(spec, 'selectableFields') && !isHoisted(spec, 'schema')
      ? apartErrors(version, path)
      : selectableErrors(version, path, old);
}

function* columnErrors(column: CustomResourceColumnDefinition, path: string): Findings {
  const { name, type, format, jsonPath } = column;
  if (!name) yield required(child(path, 'name'));
  const types = `must be one of ${columnTypes.join(',')}`;
  if (!type) yield required(child(path, 'type'), types);
  else if (!columnTypes.includes(type)) yield invalid(child(path, 'type'), type, types);
  if (format && !columnFormats.includes(format))
    yield invalid(child(path, 'format'), format, `must be one of ${columnFormats.join(',')}`);
  if (!jsonPath) yield required(child(path, 'JSONPath'));
  else if (!jsonPath.startsWith('.')) yield invalid(child(path, 'JSONPath'), jsonPath, notSimple);
}

function* scaleErrors(scale: CustomResourceSubresourceScale, path: string): Findings {
  yield* scalePathErrors(scale.specReplicasPath, child(path, 'specReplicasPath'), ['.spec']);
  yield* scalePathErrors(scale.statusReplicasPath, child(path, 'statusReplicasPath'), ['.status']);
  if (scale.labelSelectorPath)
    yield* scalePathErrors(scale.labelSelectorPath, child(path, 'labelSelectorPath'), ['.spec', '.status']);
}

function* scalePathErrors(value: string | undefined, path: string, places: readonly string[]): Findings {
  if (!value) return yield required(path);
  if (!value.startsWith('.')) return yield invalid(path, value, notSimple);
  if (!places.some((place) => value.startsWith(`${place}.`)))
    yield invalid(
      path,
      value,
      `should be a json path under ${places.length > 1 ? 'either ' : ''}${places.join(' or ')}`,
    );
}

const needsSchema = 'may only be set when validations.schema is included';

function* apartErrors(
  { selectableFields: fields = [] }: CustomResourceDefinitionVersion,
  path: string,
): Findings {
  if (fields.length > 0) yield invalid(path, '', needsSchema);
}

function* selectableErrors(
  { name, selectableFields: fields = [], schema }: CustomResourceDefinitionVersion,
  path: string,
  old: CustomResourceDefinitionSpec | undefined,
): Findings {
  if (fields.length === 0) return;
  const root = schema?.openAPIV3Schema as Schema | undefined;
  if (!root) return yield invalid(path, '', needsSchema);
  const seen = new Set<string>();
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const place = child(index(path, i), 'jsonPath');
    const found = jsonPath ? readFieldPath(jsonPath, root, false) : undefined;
    if (!found) yield required(place);
    else if (typeof found === 'string') yield invalid(place, jsonPath, `is an invalid path: ${found}`);
    else {
      yield* selectableProblems(found, jsonPath, place);
      const text = pathText('', found.steps);
      if (seen.has(text)) yield duplicate(place, jsonPath);
      seen.add(text);
    }
  }
  if (seen.size > selectableMax && !keptTooMany(name, fields, old))
    yield tooMany(path, seen.size, selectableMax);
}

function* selectableProblems({ steps, schema }: FieldPath, jsonPath: string, place: string): Findings {
  if (steps[0] === 'metadata') yield invalid(place, jsonPath, 'must not point to fields in metadata');
  if (!selectableTypes.includes(schema?.type ?? ''))
    yield invalid(
      place,
      jsonPath,
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    );
}

/** Whether a definition had as many before the bound was there. */
function keptTooMany(
  name: string | undefined,
  fields: readonly SelectableField[],
  old: CustomResourceDefinitionSpec | undefined,
): boolean {
  const before = old?.versions?.find((version) => version.name === name)?.selectableFields ?? [];
  return before.length > selectableMax && sameJson(before, fields);
}
