/** OpenAPI 2 ("Swagger"): one document for all versions. */
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import type { Descriptions } from '../../../api/model/descriptions.ts';
import { release } from '../../../api/values/release.ts';
import { groupWord, splitApiVersion } from '../model-names.ts';
import { type Operation, successCodes } from './operations.ts';
import { answerTypes, inlineParameters, type Parameter, parameter, streamTypes } from './parameters.ts';
import { Definitions, type Schema } from './schema.ts';
import { scheme } from './scheme.ts';

export interface ParameterV2 {
  $ref?: string;
  name?: string;
  in?: string;
  type?: string;
  description?: string;
  required?: boolean;
  uniqueItems?: boolean;
  schema?: Schema;
}

export interface OperationV2 {
  description: string;
  operationId: string;
  tags: string[];
  consumes?: readonly string[];
  schemes?: readonly string[];
  produces: readonly string[];
  parameters?: ParameterV2[];
  responses: Record<string, { description: string; schema?: Schema }>;
  [extension: `x-${string}`]: unknown;
}

export type PathV2 = { parameters?: ParameterV2[] } & { [method in Operation['method']]?: OperationV2 };

export interface DocumentV2 {
  swagger: '2.0';
  info: { title: string; version: string };
  paths: Record<string, PathV2>;
  definitions: Record<string, Schema>;
  parameters: Record<string, ParameterV2>;
  securityDefinitions?: typeof bearerToken;
  security?: readonly { BearerToken: readonly string[] }[];
}

/** A path of either version. */
type PathWith<P> = { parameters?: P[] } & { [method in Operation['method']]?: { parameters?: P[] } };

export const title = 'Kubernetes';
export const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

/** Names of the path parameters, in their order. */
export const namesInPath = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** Parameters that all operations of a path share: its path parameters, and `pretty` where objects are answered. */
export const pathParameters = ({ path, action, gvk }: Operation): string[] => [
  ...namesInPath(path),
  ...(action === 'connect' || !gvk ? [] : ['pretty']),
];

/** Media types of the answer to an operation. */
export function answerTypesOf({ action = '', answer, answerTypes: own }: Operation): readonly string[] {
  if (own) return own;
  if (!answer) return anyType;
  return /^(list|watch|watchlist)$/.test(action) ? [...answerTypes, ...streamTypes] : answerTypes;
}

export const codeNames = { 200: 'OK', 201: 'Created', 202: 'Accepted' } as const;

export const unauthorized = { description: 'Unauthorized' } as const;

/** The security scheme: a bearer token. */
export const bearerToken = {
  BearerToken: {
    description: 'A token in the Authorization header.',
    in: 'header',
    name: 'authorization',
    type: 'apiKey',
  },
} as const;

export const tagOf = (apiVersion: string): string => {
  const { group, version } = splitApiVersion(apiVersion);
  return `${groupWord(group)}_${version}`;
};

/** Estimated number of steps to describe an operation. */
export const operationSteps = 2_000;

/**
 * Builds the document in slices: each `yield` reports about how many steps it took. Operations must arrive by version,
 * and within a version by resource.
 */
export function* documentV2(
  operations: ReadonlyMap<string, readonly Operation[]>,
  descriptions: Descriptions,
  minor?: ChosenMinor,
): Generator<number, DocumentV2> {
  const definitions = new Definitions('v2', descriptions, scheme, minor);
  const { paths, shared } = yield* pathsV2(operations, definitions);
  return {
    ...frameV2(minor),
    paths,
    definitions: definitions.schemas,
    parameters: Object.fromEntries([...shared].sort().map((name) => [name, parameterV2(parameter(name))])),
  };
}

/** Since servers can emulate a minor, documents name that alone. */
export const shownRelease = (minor: ChosenMinor | undefined): string =>
  minor && minor.number >= 31 ? `1.${minor.number}` : (minor?.release ?? release);

/** The document without what it describes. */
export const frameV2 = (minor: ChosenMinor | undefined): DocumentV2 => ({
  swagger: '2.0',
  info: { title, version: shownRelease(minor) },
  paths: {},
  definitions: {},
  parameters: {},
  securityDefinitions: bearerToken,
  security: [{ BearerToken: [] }],
});

/** Paths of versions with the models that they refer to, and the names of the parameters that they share. */
export function* pathsV2(
  operations: ReadonlyMap<string, readonly Operation[]>,
  definitions: Definitions,
): Generator<number, { readonly paths: Record<string, PathV2>; readonly shared: ReadonlySet<string> }> {
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
        parameters: pathParameters(operation).map((name) => refer(parameter(name))),
      });
      const tag = operation.tag ?? tagOf(apiVersion);
      path[operation.method] = operationV2(operation, tag, definitions, refer);
      yield operationSteps;
      yield* definitions.define();
    }
  if (definitions.isOfMinor) Object.values(paths).forEach(shareParameters);
  return { paths, shared };
}

export const parameterV2 = ({ name, in: place, type, description }: Parameter): ParameterV2 => ({
  name,
  in: place,
  type,
  description,
  ...(place === 'path' ? { required: true } : {}),
  uniqueItems: true,
});

/** Bodies of built-in kinds may have any of the types that the server reads. */
export const anyType: readonly string[] = ['*/*'];

function consumedTypes(operation: Operation): readonly string[] | undefined {
  const { answer, body, gvk, isVersion, patchTypes: own, requestTypes = anyType } = operation;
  if (!gvk) return answer || isVersion ? answerTypesOf(operation) : undefined;
  return body?.model === 'Patch' ? (own ?? patchTypes) : requestTypes;
}

export function answerSchema({ answer, isVersion }: Operation, definitions: Definitions): Schema {
  if (isVersion) return definitions.version();
  return answer ? definitions.model(answer) : { type: 'string' };
}

const nameOf = ({ $ref, name = '' }: ParameterV2): string => $ref?.split('/').at(-1) ?? name;

/** Moves parameters that all operations of a path take to the path itself, and sorts them, as in Kubernetes. */
export function shareParameters<P extends ParameterV2>(path: PathWith<P>): void {
  const { parameters: shared = [], ...byMethod } = path;
  const operations = Object.values(byMethod);
  const key = ({ $ref, in: place, name }: P): string => $ref ?? `${place} ${name}`;
  const [first = [], ...others] = operations.map(({ parameters = [] }) => parameters);
  const common = first.filter(
    (one) =>
      one.in !== 'body' && others.every((parameters) => parameters.some((each) => key(each) === key(one))),
  );
  const byName = (a: P, b: P): number => (nameOf(a) < nameOf(b) ? -1 : 1);
  path.parameters = [...shared, ...common].sort(byName);
  if (!path.parameters.length) delete path.parameters;
  const keys = new Set(common.map(key));
  for (const operation of operations) {
    operation.parameters = operation.parameters?.filter((one) => !keys.has(key(one))).sort(byName) ?? [];
    if (!operation.parameters.length) delete operation.parameters;
  }
}

function operationV2(
  operation: Operation,
  tag: string,
  definitions: Definitions,
  refer: (parameter: Parameter) => ParameterV2,
): OperationV2 {
  const { action, body, description, gvk, id } = operation;
  const parameters = operation.parameters.map(refer);
  if (body) {
    const schema = body.model === 'Patch' ? definitions.value('Patch') : definitions.model(body.model);
    parameters.unshift({ name: 'body', in: 'body', ...(body.required ? { required: true } : {}), schema });
  }
  const schema = answerSchema(operation, definitions);
  const successes = successCodes(operation).map((code) => [code, { description: codeNames[code], schema }]);
  const consumes = consumedTypes(operation);
  const failure = definitions.failure();
  return {
    description,
    operationId: id,
    tags: [tag],
    ...(consumes ? { consumes } : {}),
    ...(failure ? {} : { schemes: ['https'] }),
    produces: answerTypesOf(operation),
    ...(parameters.length ? { parameters } : {}),
    responses: {
      ...Object.fromEntries(successes),
      401: unauthorized,
      ...(failure ? { default: { description: 'Error', schema: failure } } : {}),
    },
    ...(action ? { 'x-kubernetes-action': action } : {}),
    ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}),
  };
}
