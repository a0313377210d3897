/** OpenAPI 2 ("Swagger"): one document for all versions. */
import type { Descriptions } from '../../../api/model/descriptions.ts';
import { modelOf } from '../../../api/model/model.ts';
import { release } from '../../../api/values/release.ts';
import { groupWord, splitApiVersion } from '../model-names.ts';
import type { Operation } from './operations.ts';
import { inlineParameters, type Parameter, parameter } from './parameters.ts';
import { Definitions, type Schema } from './schema.ts';

export interface ParameterV2 {
  $ref?: string;
  name?: string;
  in?: string;
  type?: string;
  description?: string;
  required?: boolean;
  schema?: Schema;
}

export interface OperationV2 {
  description: string;
  operationId: string;
  tags: string[];
  consumes?: readonly string[];
  produces: readonly string[];
  parameters?: ParameterV2[];
  responses: Record<string, { description: string; schema: Schema }>;
  [extension: `x-${string}`]: unknown;
}

export type PathV2 = { parameters?: ParameterV2[] } & { [method in Operation['method']]?: OperationV2 };

export interface DocumentV2 {
  swagger: '2.0';
  info: { title: string; version: string };
  paths: Record<string, PathV2>;
  definitions: Record<string, Schema>;
  parameters: Record<string, ParameterV2>;
}

export const title = 'Kubernetes';
export const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
export const answerTypes: readonly string[] = ['application/json', 'application/yaml'];

/** Path parameters in their order, then the parameters that every path takes. */
export const pathParameters = (path: string): string[] => [
  ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
  'pretty',
];

export const tagOf = (apiVersion: string): string => {
  const { group, version } = splitApiVersion(apiVersion);
  return `${groupWord(group)}_${version}`;
};

/** Operations arrive by version, and within a version by resource. */
/** About how many steps it takes to describe an operation, with the models it names. */
export const operationSteps = 2_000;

/** In slices: each `yield` tells about how many steps it took. */
export function* documentV2(
  operations: ReadonlyMap<string, readonly Operation[]>,
  descriptions: Descriptions,
): Generator<number, DocumentV2> {
  const definitions = new Definitions('v2', descriptions);
  const shared = new Set<string>();
  const refer = (one: Parameter): ParameterV2 => {
    if (inlineParameters.has(one.name) || one !== parameter(one.name)) return parameterV2(one);
    shared.add(one.name);
    return { $ref: `#/parameters/${one.name}` };
  };
  const paths: Record<string, PathV2> = {};
  for (const [apiVersion, list] of operations)
    for (const operation of list) {
      const path = (paths[operation.path] ??= {
        parameters: pathParameters(operation.path).map((name) => refer(parameter(name))),
      });
      path[operation.method] = operationV2(operation, tagOf(apiVersion), definitions, refer);
      yield operationSteps;
    }
  return {
    swagger: '2.0',
    info: { title, version: release },
    paths,
    definitions: definitions.schemas,
    parameters: Object.fromEntries([...shared].sort().map((name) => [name, parameterV2(parameter(name))])),
  };
}

export const parameterV2 = ({ name, in: place, type, description }: Parameter): ParameterV2 => ({
  name,
  in: place,
  type,
  description,
  ...(place === 'path' ? { required: true } : {}),
});

function operationV2(
  operation: Operation,
  tag: string,
  definitions: Definitions,
  refer: (parameter: Parameter) => ParameterV2,
): OperationV2 {
  const { action, answer, body, creates, description, gvk, id } = operation;
  const parameters = operation.parameters.map(refer);
  if (body) {
    const schema = body.model === 'Patch' ? definitions.value('Patch') : definitions.model(body.model);
    parameters.unshift({ name: 'body', in: 'body', ...(body.required ? { required: true } : {}), schema });
  }
  const success = {
    description: 'OK',
    schema: answer ? definitions.model(answer) : { type: 'string' },
  };
  return {
    description,
    operationId: id,
    tags: [tag],
    ...(body ? { consumes: body.model === 'Patch' ? (operation.patchTypes ?? patchTypes) : ['*/*'] } : {}),
    produces: answer ? answerTypes : ['*/*'],
    ...(parameters.length ? { parameters } : {}),
    responses: {
      200: success,
      ...(creates ? { 201: { ...success, description: 'Created' } } : {}),
      default: { description: 'Error', schema: definitions.model(modelOf('Status')) },
    },
    ...(action ? { 'x-kubernetes-action': action } : {}),
    ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}),
  };
}
