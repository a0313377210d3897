/**
 * OpenAPI 2 in protobuf, the only form that kubectl 1.8 to 1.26 accepts. The messages are those of the gnostic
 * project; parts that no client reads (the responses of operations) are left out.
 *
 * Messages are built from the inside out: each function returns the bytes of a message or field. Bytes are kept as
 * Latin-1 strings until the end, because concatenating strings is cheap and concatenating buffers copies them.
 */
import { writeYaml } from '../../../api/text/yaml-writing.ts';
import { answerTypes, parameter as parameterOf } from './parameters.ts';
import type { Schema } from './schema.ts';
import {
  type DocumentV2,
  type OperationV2,
  type ParameterV2,
  type PathV2,
  parameterV2,
  patchTypes,
} from './v2.ts';

const lengthDelimited = 2;

/**
 * A path for objects of any kind. `kubectl drain --dry-run=server` before 1.21 needs it: it checks for dry-run
 * support with an empty kind instead of Pod.
 */
const anyObject: Readonly<Record<string, PathV2>> = {
  '/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}': {
    patch: {
      description: 'Changes parts of an object.',
      operationId: 'patchObject',
      tags: ['any'],
      consumes: patchTypes,
      produces: answerTypes,
      parameters: [parameterV2(parameterOf('dryRun'))],
      responses: {},
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: '', kind: '', version: '' },
    },
  },
};

function varint(value: number): string {
  let bytes = '';
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes += String.fromCharCode((rest % 0x80) | 0x80);
  return bytes + String.fromCharCode(rest);
}

const nested = (number: number, value: string): string =>
  varint((number << 3) | lengthDelimited) + varint(value.length) + value;

const utf8 = (value: string): string =>
  /^[\x20-\x7e\n]*$/.test(value) ? value : Buffer.from(value).toString('latin1');

/** An empty string is not written. */
const text = (number: number, value: string | undefined): string =>
  value ? nested(number, utf8(value)) : '';

const texts = (number: number, values: readonly string[] = []): string =>
  values.map((value) => nested(number, utf8(value))).join('');

const flag = (number: number, value: boolean | undefined): string =>
  value ? varint(number << 3) + varint(1) : '';

const repeated = <T>(
  number: number,
  values: readonly T[] | undefined,
  encode: (value: T) => string,
): string => (values ?? []).map((value) => nested(number, encode(value))).join('');

/** Any: a value, as YAML. */
const any = (value: unknown): string => text(2, writeYaml(value));

/** NamedAny for each `x-…` key. */
const extensions = (number: number, value: object): string =>
  repeated(
    number,
    Object.entries(value).filter(([name]) => name.startsWith('x-')),
    ([name, extension]) => text(1, name) + nested(2, any(extension)),
  );

/** NamedSchema, NamedPathItem and the like for each key. */
const named = <T>(
  number: number,
  values: Readonly<Record<string, T>>,
  encode: (value: T) => string,
): string =>
  repeated(number, Object.entries(values), ([name, value]) => text(1, name) + nested(2, encode(value)));

/** Encodes a document in slices: each `yield` reports about how many steps it took. */
export function* encodeV2(document: DocumentV2): Generator<number, Buffer> {
  const paths = yield* namedInSlices(2, { ...document.paths, ...anyObject }, pathItem);
  const definitions = yield* namedInSlices(1, document.definitions, definition);
  return Buffer.from(
    text(1, document.swagger) +
      nested(2, text(1, document.info.title) + text(2, document.info.version)) +
      nested(8, paths) +
      nested(9, definitions) +
      nested(10, named(1, document.parameters, parameter)),
    'latin1',
  );
}

function* namedInSlices<T>(
  number: number,
  values: Readonly<Record<string, T>>,
  encode: (value: T) => string,
): Generator<number, string> {
  let bytes = '';
  for (const name of Object.keys(values)) {
    const one = named(number, { [name]: values[name]! }, encode);
    bytes += one;
    yield one.length;
  }
  return bytes;
}

/** Encodes a definition. A schema that gnostic cannot express is reduced to an object. */
function definition(value: Schema): string {
  try {
    return schema(value);
  } catch {
    return schema({ type: 'object', ...gvkOf(value) });
  }
}

const gvkOf = (value: Schema): Schema => {
  const gvk = value['x-kubernetes-group-version-kind'];
  return gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': gvk };
};

function schema(value: Schema): string {
  const { additionalProperties, items, properties } = value;
  return (
    text(1, value.$ref) +
    text(2, value.format) +
    text(4, value.description) +
    (value.default === undefined ? '' : nested(5, any(value.default))) +
    texts(19, value.required) +
    repeated(20, value.enum, any) +
    (additionalProperties
      ? nested(21, additionalProperties === true ? flag(2, true) : nested(1, schema(additionalProperties)))
      : '') +
    (value.type ? nested(22, text(1, value.type)) : '') +
    (items ? nested(23, nested(1, schema(items))) : '') +
    (properties ? nested(25, named(1, properties, schema)) : '') +
    extensions(31, value)
  );
}

const pathItem = (path: PathV2): string =>
  operation(2, path.get) +
  operation(3, path.put) +
  operation(4, path.post) +
  operation(5, path.delete) +
  operation(6, path.options) +
  operation(7, path.head) +
  operation(8, path.patch) +
  repeated(9, path.parameters, parametersItem);

const operation = (number: number, value: OperationV2 | undefined): string =>
  value
    ? nested(
        number,
        texts(1, value.tags) +
          text(3, value.description) +
          text(5, value.operationId) +
          texts(6, value.produces) +
          texts(7, value.consumes) +
          repeated(8, value.parameters, parametersItem) +
          extensions(13, value),
      )
    : '';

/** A parameter, or a reference to one. */
const parametersItem = (value: ParameterV2): string =>
  value.$ref ? nested(2, text(1, value.$ref)) : nested(1, parameter(value));

function parameter(value: ParameterV2): string {
  if (value.in === 'body')
    return nested(
      1,
      text(2, value.name) + text(3, value.in) + flag(4, value.required) + nested(5, schema(value.schema!)),
    );
  const shared =
    flag(1, value.required) + text(2, value.in) + text(3, value.description) + text(4, value.name);
  return nested(
    2,
    value.in === 'path'
      ? nested(4, shared + text(5, value.type) + flag(19, value.uniqueItems))
      : nested(3, shared + text(6, value.type) + flag(20, value.uniqueItems)),
  );
}
