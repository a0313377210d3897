/** OpenAPI 3: one self-contained document for each version of each group. */
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import type { Descriptions } from '../../../api/model/descriptions.ts';
import { type Operation, successCodes } from './operations.ts';
import { inlineParameters, type Parameter, parameter } from './parameters.ts';
import { Definitions, type Schema } from './schema.ts';
import { clientScheme } from './scheme.ts';
import {
  answerSchema,
  answerTypesOf,
  anyType,
  bearerToken,
  codeNames,
  operationSteps,
  patchTypes,
  pathParameters,
  shareParameters,
  shownRelease,
  tagOf,
  title,
  unauthorized,
} from './v2.ts';

interface ParameterV3 {
  $ref?: string;
  name?: string;
  in?: string;
  description?: string;
  required?: boolean;
  schema?: Schema;
}

type Content = Record<string, { schema: Schema }>;

interface OperationV3 {
  description: string;
  operationId: string;
  tags: string[];
  parameters?: ParameterV3[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, { description: string; content?: Content }>;
  [extension: `x-${string}`]: unknown;
}

type PathV3 = { parameters?: ParameterV3[] } & { [method in Operation['method']]?: OperationV3 };

export interface DocumentV3 {
  openapi: '3.0.0';
  info: { title: string; version: string };
  paths: Record<string, PathV3>;
  components: {
    schemas?: Record<string, Schema>;
    parameters?: Record<string, ParameterV3>;
    securitySchemes?: typeof bearerToken;
  };
}

/** Title and version that Kubernetes writes into documents of custom kinds. */
const customInfo = { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' };

/** Builds the document in slices: each `yield` reports about how many steps it took. */
export function* documentV3(
  apiVersion: string,
  isCustom: boolean,
  operations: readonly Operation[],
  descriptions: Descriptions,
  minor?: ChosenMinor,
): Generator<number, DocumentV3> {
  const definitions = new Definitions('v3', descriptions, versionsOf(apiVersion, isCustom, minor), minor);
  const shared = new Set<string>();
  const refer = (one: Parameter): ParameterV3 => {
    if (inlineParameters.has(one.name) || one !== parameter(one.name)) return parameterV3(one);
    shared.add(one.name);
    return { $ref: `#/components/parameters/${one.name}` };
  };
  const paths: Record<string, PathV3> = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {
      parameters: pathParameters(operation).map((name) => refer(parameter(name))),
    });
    const tag = operation.tag ?? tagOf(apiVersion);
    path[operation.method] = operationV3(operation, tag, definitions, refer);
    yield operationSteps;
    yield* definitions.define();
  }
  if (definitions.isOfMinor) Object.values(paths).forEach(shareParameters);
  return {
    openapi: '3.0.0',
    info: isCustom ? customInfo : { title, version: shownRelease(minor) },
    paths,
    components: {
      ...unlessEmpty('schemas', definitions.schemas),
      ...unlessEmpty(
        'parameters',
        Object.fromEntries([...shared].sort().map((name) => [name, parameterV3(parameter(name))])),
      ),
      ...(isCustom && minor ? {} : { securitySchemes: bearerToken }),
    },
  };
}

/** The versions in which a document has shared kinds: for custom kinds, Kubernetes lists those that its client knows. */
function versionsOf(
  apiVersion: string,
  isCustom: boolean,
  minor: ChosenMinor | undefined,
): readonly string[] {
  if (isCustom) return minor ? clientScheme : ['v1'];
  return apiVersion === 'v1' ? ['v1'] : ['v1', apiVersion];
}

const unlessEmpty = <T extends object>(name: string, given: T): { [name: string]: T } =>
  Object.keys(given).length ? { [name]: given } : {};

const parameterV3 = ({ name, in: place, type, description }: Parameter): ParameterV3 => ({
  name,
  in: place,
  description,
  ...(place === 'path' ? { required: true } : {}),
  schema: { type, uniqueItems: true },
});

const content = (types: readonly string[], schema: Schema): Content =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

function operationV3(
  operation: Operation,
  tag: string,
  definitions: Definitions,
  refer: (parameter: Parameter) => ParameterV3,
): OperationV3 {
  const { action, body, description, gvk, id, parameters } = operation;
  const success = content(answerTypesOf(operation), answerSchema(operation, definitions));
  const failure = definitions.failure();
  const successes = successCodes(operation).map((code) => [
    code,
    { description: codeNames[code], content: success },
  ]);
  return {
    description,
    operationId: id,
    tags: [tag],
    ...(parameters.length ? { parameters: parameters.map(refer) } : {}),
    ...(body ? { requestBody: requestBody(body, operation, definitions) } : {}),
    responses: {
      ...Object.fromEntries(successes),
      401: unauthorized,
      ...(failure
        ? { default: { description: 'Error', content: content(['application/json'], failure) } }
        : {}),
    },
    ...(action ? { 'x-kubernetes-action': action } : {}),
    ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}),
  };
}

function requestBody(
  { model, required }: NonNullable<Operation['body']>,
  { patchTypes: own = patchTypes, requestTypes = anyType }: Operation,
  definitions: Definitions,
): NonNullable<OperationV3['requestBody']> {
  return {
    content:
      model === 'Patch'
        ? content(own, definitions.value('Patch'))
        : content(requestTypes, definitions.model(model)),
    ...(required ? { required } : {}),
  };
}
