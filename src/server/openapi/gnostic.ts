/**
 * OpenAPI 2 in protobuf, the only form in which kubectl 1.8 to 1.26 takes it. The messages are those of the gnostic
 * project; the ones no client reads (the answers of operations) are left out.
 *
 * Messages are made from the inside out: each function answers with the bytes of one message or field.
 */
import { writeYaml } from '../../api/yaml.ts';
import type { Schema } from './schema.ts';
import type { DocumentV2, OperationV2, ParameterV2, PathV2 } from './v2.ts';

const lengthDelimited = 2;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

const message = (...fields: (Buffer | readonly Buffer[])[]): Buffer => Buffer.concat(fields.flat());

const nested = (number: number, value: Buffer): Buffer =>
  Buffer.concat([varint((number << 3) | lengthDelimited), varint(value.length), value]);

/** An unset text is not written. */
const text = (number: number, value: string | undefined): readonly Buffer[] =>
  value ? [nested(number, Buffer.from(value))] : [];

const texts = (number: number, values: readonly string[] = []): readonly Buffer[] =>
  values.map((value) => nested(number, Buffer.from(value)));

const flag = (number: number, value: boolean | undefined): readonly Buffer[] =>
  value ? [Buffer.concat([varint(number << 3), varint(1)])] : [];

/** Any: a value as YAML. */
const any = (value: unknown): Buffer => message(text(2, writeYaml(value)));

/** NamedAny for each `x-…` key. */
const extensions = (number: number, value: object): readonly Buffer[] =>
  Object.entries(value)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, extension]) => nested(number, message(text(1, name), nested(2, any(extension)))));

/** NamedSchema, NamedPathItem and the like for each key. */
const named = <T>(
  number: number,
  values: Readonly<Record<string, T>>,
  encode: (value: T) => Buffer,
): readonly Buffer[] =>
  Object.entries(values).map(([name, value]) =>
    nested(number, message(text(1, name), nested(2, encode(value)))),
  );

export const encodeV2 = (document: DocumentV2): Buffer =>
  message(
    text(1, document.swagger),
    nested(2, message(text(1, document.info.title), text(2, document.info.version))),
    nested(8, message(named(2, document.paths, pathItem))),
    nested(9, message(named(1, document.definitions, schema))),
    nested(10, message(named(1, document.parameters, parameter))),
  );

function schema(value: Schema): Buffer {
  const { additionalProperties, items, properties } = value;
  return message(
    text(1, value.$ref),
    text(2, value.format),
    text(4, value.description),
    value.default === undefined ? [] : nested(5, any(value.default)),
    texts(19, value.required),
    (value.enum ?? []).map((one) => nested(20, any(one))),
    additionalProperties ? nested(21, message(nested(1, schema(additionalProperties)))) : [],
    value.type ? nested(22, message(text(1, value.type))) : [],
    items ? nested(23, message(nested(1, schema(items)))) : [],
    properties ? nested(25, message(named(1, properties, schema))) : [],
    extensions(31, value),
  );
}

const pathItem = (path: PathV2): Buffer =>
  message(
    path.get ? nested(2, operation(path.get)) : [],
    path.put ? nested(3, operation(path.put)) : [],
    path.post ? nested(4, operation(path.post)) : [],
    path.delete ? nested(5, operation(path.delete)) : [],
    path.patch ? nested(8, operation(path.patch)) : [],
    (path.parameters ?? []).map((one) => nested(9, parametersItem(one))),
  );

const operation = (value: OperationV2): Buffer =>
  message(
    texts(1, value.tags),
    text(3, value.description),
    text(5, value.operationId),
    texts(6, value.produces),
    texts(7, value.consumes),
    (value.parameters ?? []).map((one) => nested(8, parametersItem(one))),
    extensions(13, value),
  );

/** A parameter, or a reference to one. */
const parametersItem = (value: ParameterV2): Buffer =>
  value.$ref ? message(nested(2, message(text(1, value.$ref)))) : message(nested(1, parameter(value)));

function parameter(value: ParameterV2): Buffer {
  if (value.in === 'body')
    return message(
      nested(
        1,
        message(text(2, value.name), text(3, value.in), flag(4, value.required), nested(5, schema(value.schema!))),
      ),
    );
  const shared = [flag(1, value.required), text(2, value.in), text(3, value.description), text(4, value.name)];
  const subSchema =
    value.in === 'path'
      ? nested(4, message(...shared, text(5, value.type)))
      : nested(3, message(...shared, text(6, value.type)));
  return message(nested(2, subSchema));
}
