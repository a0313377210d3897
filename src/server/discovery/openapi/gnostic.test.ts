/**
 * Proves that the protobuf form has the content of the JSON form, by reading it with a second, separate message
 * table.
 */
import protobuf from 'protobufjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { KindTable } from '../../../api/kinds/kinds.ts';
import { readYaml } from '../../../api/text/yaml.ts';
import { Discovery } from '../discovery.ts';
import { Documents } from './documents.ts';

type Json = any;

/** Wire contract, appendix A. */
const messages = `
  syntax = "proto3";
  message Document {
    string swagger = 1; Info info = 2; Paths paths = 8; Definitions definitions = 9;
    ParameterDefinitions parameters = 10; repeated NamedAny vendor_extension = 16;
  }
  message Info { string title = 1; string version = 2; string description = 3; }
  message Definitions { repeated NamedSchema additional_properties = 1; }
  message Properties { repeated NamedSchema additional_properties = 1; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message Schema {
    string _ref = 1; string format = 2; string title = 3; string description = 4; Any default = 5;
    repeated string required = 19; repeated Any enum = 20;
    AdditionalPropertiesItem additional_properties = 21; TypeItem type = 22; ItemsItem items = 23;
    repeated Schema all_of = 24; Properties properties = 25; repeated NamedAny vendor_extension = 31;
  }
  message TypeItem { repeated string value = 1; }
  message ItemsItem { repeated Schema schema = 1; }
  message AdditionalPropertiesItem { oneof oneof { Schema schema = 1; bool boolean = 2; } }
  message NamedAny { string name = 1; Any value = 2; }
  message Any { string yaml = 2; }
  message Paths { repeated NamedAny vendor_extension = 1; repeated NamedPathItem path = 2; }
  message NamedPathItem { string name = 1; PathItem value = 2; }
  message PathItem {
    string _ref = 1; Operation get = 2; Operation put = 3; Operation post = 4; Operation delete = 5;
    Operation options = 6; Operation head = 7; Operation patch = 8; repeated ParametersItem parameters = 9;
  }
  message Operation {
    repeated string tags = 1; string summary = 2; string description = 3; string operation_id = 5;
    repeated string produces = 6; repeated string consumes = 7; repeated ParametersItem parameters = 8;
    repeated NamedAny vendor_extension = 13;
  }
  message ParametersItem { oneof oneof { Parameter parameter = 1; JsonReference json_reference = 2; } }
  message JsonReference { string _ref = 1; }
  message Parameter { oneof oneof { BodyParameter body_parameter = 1; NonBodyParameter non_body_parameter = 2; } }
  message NonBodyParameter {
    oneof oneof {
      QueryParameterSubSchema query_parameter_sub_schema = 3; PathParameterSubSchema path_parameter_sub_schema = 4;
    }
  }
  message QueryParameterSubSchema {
    bool required = 1; string in = 2; string description = 3; string name = 4; bool allow_empty_value = 5;
    string type = 6; string format = 7; bool uniqueItems = 20;
  }
  message PathParameterSubSchema {
    bool required = 1; string in = 2; string description = 3; string name = 4; string type = 5; string format = 6;
    bool uniqueItems = 19;
  }
  message BodyParameter { string description = 1; string name = 2; string in = 3; bool required = 4; Schema schema = 5; }
  message ParameterDefinitions { repeated NamedParameter additional_properties = 1; }
  message NamedParameter { string name = 1; Parameter value = 2; }
`;

const kinds = new KindTable();
const documents = new Documents(new Discovery(kinds), kinds);
let json: Json;
let decoded: Json;

beforeAll(async () => {
  json = JSON.parse((await documents.v2()).bytes.toString());
  const type = protobuf.parse(messages, { keepCase: true }).root.lookupType('Document');
  decoded = type.toObject(type.decode((await documents.v2Protobuf()).bytes));
});

const extensions = (list: Json[] = []): Json =>
  Object.fromEntries(list.map(({ name, value }) => [name, readYaml(value.yaml).value]));

/** A decoded schema in its JSON form. */
function schema(value: Json = {}): Json {
  const written: Json = { ...extensions(value.vendor_extension) };
  if (value._ref) written.$ref = value._ref;
  for (const key of ['format', 'description', 'required']) if (value[key]) written[key] = value[key];
  if (value.default) written.default = readYaml(value.default.yaml).value;
  if (value.enum) written.enum = value.enum.map(({ yaml }: Json) => readYaml(yaml).value);
  if (value.type) written.type = value.type.value[0];
  if (value.items) written.items = schema(value.items.schema[0]);
  if (value.additional_properties) written.additionalProperties = schema(value.additional_properties.schema);
  if (value.properties) written.properties = schemas(value.properties.additional_properties);
  return written;
}

const schemas = (list: Json[]): Json =>
  Object.fromEntries(list.map(({ name, value }) => [name, schema(value)]));

function parameter({ body_parameter: body, non_body_parameter: other }: Json): Json {
  if (!body) return other.query_parameter_sub_schema ?? other.path_parameter_sub_schema;
  return { ...body, schema: schema(body.schema) };
}

const parameters = (list: Json[] = []): Json[] =>
  list.map(({ json_reference: reference, parameter: own }) =>
    reference ? { $ref: reference._ref } : parameter(own),
  );

function operation(value: Json): Json {
  const { operation_id: operationId, vendor_extension: extension, parameters: list, ...rest } = value;
  return {
    ...rest,
    operationId,
    ...(list ? { parameters: parameters(list) } : {}),
    ...extensions(extension),
  };
}

describe('the protobuf form', () => {
  it('has the same head', () => {
    expect(decoded.swagger).toBe('2.0');
    expect(decoded.info).toEqual(json.info);
  });

  it('has the same definitions', () => {
    const definitions = schemas(decoded.definitions.additional_properties);
    expect(Object.keys(definitions)).toEqual(Object.keys(json.definitions));
    expect(definitions['io.k8s.api.core.v1.Container'].properties.ports).toMatchObject({
      type: 'array',
      items: { $ref: '#/definitions/io.k8s.api.core.v1.ContainerPort' },
      'x-kubernetes-patch-merge-key': 'containerPort',
    });
    expect(definitions).toEqual(json.definitions);
  });

  it('writes extensions as kubectl expects to read them', () => {
    const pod = decoded.definitions.additional_properties.find(
      ({ name }: Json) => name === 'io.k8s.api.core.v1.Pod',
    );
    expect(pod.value.vendor_extension).toEqual([
      {
        name: 'x-kubernetes-group-version-kind',
        value: { yaml: '- group: ""\n  kind: Pod\n  version: v1\n' },
      },
    ]);
  });

  const decodedPaths = (): Json => {
    const paths: Json = {};
    for (const { name, value } of decoded.paths.path) {
      const { parameters: list, ...operations } = value;
      paths[name] = { parameters: parameters(list) };
      for (const [method, one] of Object.entries(operations)) paths[name][method] = operation(one);
    }
    return paths;
  };
  const anyObject = '/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}';

  it('has the same operations, but for their answers', () => {
    const { [anyObject]: _any, ...paths } = decodedPaths();
    const expected = structuredClone(json.paths);
    for (const item of Object.values<Json>(expected))
      for (const one of Object.values<Json>(item)) delete one.responses;
    expect(paths).toEqual(expected);
  });

  it('tells about objects of no kind that they can be changed in a dry run', () => {
    const { patch } = decodedPaths()[anyObject];
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: '', kind: '', version: '' });
    expect(patch.parameters).toMatchObject([{ name: 'dryRun', in: 'query' }]);
  });

  it('has the same shared parameters', () => {
    const shared = decoded.parameters.additional_properties.map(({ name, value }: Json) => [
      name,
      parameter(value),
    ]);
    expect(Object.fromEntries(shared)).toEqual(json.parameters);
  });
});
