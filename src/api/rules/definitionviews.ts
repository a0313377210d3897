/** Columns, scale and selectable fields of a custom kind: the rules of what points into its objects. */
import type { Schema } from '../customschema/schema.ts';
import { child, duplicate, index, invalid, required, tooMany } from '../fielderror.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../generated/types.ts';
import { partsOf } from './definitioninnerform.ts';
import type { Findings } from './findings.ts';

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
  for (const { path, version } of partsOf(spec, 'selectableFields'))
    yield* selectableErrors(version, path, old);
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

/** Names with dots between them. */
const simplePath = /^(\.[a-zA-Z0-9_\-[\]/]+)+$/;

function* scaleErrors(scale: CustomResourceSubresourceScale, path: string): Findings {
  yield* scalePathErrors(scale.specReplicasPath, child(path, 'specReplicasPath'), ['.spec']);
  yield* scalePathErrors(scale.statusReplicasPath, child(path, 'statusReplicasPath'), ['.status']);
  if (scale.labelSelectorPath)
    yield* scalePathErrors(scale.labelSelectorPath, child(path, 'labelSelectorPath'), ['.spec', '.status']);
}

function* scalePathErrors(value: string | undefined, path: string, places: readonly string[]): Findings {
  if (!value) return yield required(path);
  if (!simplePath.test(value)) return yield invalid(path, value, notSimple);
  if (!places.some((place) => value.startsWith(`${place}.`)))
    yield invalid(
      path,
      value,
      `should be a json path under ${places.length > 1 ? 'either ' : ''}${places.join(' or ')}`,
    );
}

function* selectableErrors(
  { selectableFields: fields = [], schema }: CustomResourceDefinitionVersion,
  path: string,
  old: CustomResourceDefinitionSpec | undefined,
): Findings {
  const before = Math.max(
    0,
    ...(old?.versions ?? []).map((version) => version.selectableFields?.length ?? 0),
  );
  if (fields.length > selectableMax && fields.length > before)
    yield tooMany(path, fields.length, selectableMax);
  const seen = new Set<string>();
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const place = child(index(path, i), 'jsonPath');
    if (!jsonPath) {
      yield required(place);
      continue;
    }
    const problem = selectableProblem(jsonPath, schema?.openAPIV3Schema as Schema | undefined);
    if (problem) yield invalid(place, jsonPath, problem);
    else if (seen.has(jsonPath)) yield duplicate(place, jsonPath);
    seen.add(jsonPath);
  }
}

function selectableProblem(jsonPath: string, schema: Schema | undefined): string | undefined {
  const wrong = (why: string): string => `is an invalid path: ${why}`;
  if (!/^[.[]/.test(jsonPath)) return wrong(`expected [ or . but got: ${/^[^.[]*/.exec(jsonPath)![0]}`);
  const segments = jsonPathNames(jsonPath);
  let node = schema;
  for (const name of segments ?? []) node = node?.properties?.[name];
  if (!segments?.length || !node) return wrong('does not refer to a valid field');
  if (segments[0] === 'metadata') return 'must not point to fields in metadata';
  return ['string', 'boolean', 'integer'].includes(node.type ?? '')
    ? undefined
    : 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
}

/** `.spec.a` and `.spec['a']` → names; undefined when it is something else. */
export function jsonPathNames(path: string): string[] | undefined {
  const names: string[] = [];
  const segment = /\.([^.[\]]+)|\['([^']*)'\]|\["([^"]*)"\]/y;
  while (segment.lastIndex < path.length) {
    const found = segment.exec(path);
    if (!found) return undefined;
    names.push((found[1] ?? found[2] ?? found[3])!);
  }
  return names;
}
