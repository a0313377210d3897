/** Expressions of admission: what conditions of webhooks and policies may use, and what they must give. */
import { type Compilation, compile, type Program } from './cel.ts';
import type { Environment } from './checker.ts';
import { admissionFunctions, mutationFunctions } from './libraries/libraries.ts';
import { opaqueTypes } from './values/functions.ts';
import {
  bool,
  dyn,
  int,
  list,
  map,
  type ObjectType,
  object,
  string,
  type Type,
  timestamp,
  typeText,
} from './values/types.ts';

export const fields = (name: string, types: Record<string, Type>): ObjectType =>
  object(name, new Map(Object.entries(types)));

const groupVersionKind = fields('kubernetes.GroupVersionKind', {
  group: string,
  version: string,
  kind: string,
});
const groupVersionResource = fields('kubernetes.GroupVersionResource', {
  group: string,
  version: string,
  resource: string,
});

export const userInfoType = fields('kubernetes.UserInfo', {
  username: string,
  uid: string,
  groups: list(string),
  extra: map(string, list(string)),
});

/** AdmissionRequest without uid and objects. */
const requestType = fields('kubernetes.AdmissionRequest', {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: string,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: userInfoType,
  dryRun: bool,
  options: dyn,
});

const namespaceType = fields('kubernetes.Namespace', {
  metadata: fields('kubernetes.NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: map(string, string),
    annotations: map(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: list(string),
  }),
  spec: fields('kubernetes.NamespaceSpec', { finalizers: list(string) }),
  status: fields('kubernetes.NamespaceStatus', { phase: string }),
});

/** Variables that only some expressions have. */
export interface AdmissionVariables {
  readonly params?: boolean;
  readonly namespaceObject?: boolean;
  /** Messages may not ask the authorizer. */
  readonly authorizer?: boolean;
  /** `variables.x`: the types of a policy's variables by name. */
  readonly variables?: ReadonlyMap<string, Type>;
  /** Expressions that make objects and patches have more types and functions. */
  readonly mutation?: boolean;
}

export function admissionEnvironment(options: AdmissionVariables = {}): Environment {
  const { params = false, namespaceObject = false, authorizer = true, variables, mutation = false } = options;
  const types = new Map<string, Type>([
    ['object', dyn],
    ['oldObject', dyn],
    ['request', requestType],
  ]);
  if (params) types.set('params', dyn);
  if (namespaceObject) types.set('namespaceObject', namespaceType);
  if (variables) types.set('variables', object('kubernetes.variables', variables));
  if (authorizer) {
    types.set('authorizer', opaqueTypes.Authorizer);
    types.set('authorizer.requestResource', opaqueTypes.ResourceCheck);
  }
  if (!mutation) return { variables: types, functions: admissionFunctions() };
  return { variables: types, functions: mutationFunctions(), structs: mutationType };
}

/** `Object`, `Object.spec` and so on take any field; `JSONPatch` is an operation of a JSON patch. */
function mutationType(name: string): ObjectType | undefined {
  if (name === 'JSONPatch') return patchType;
  return name === 'Object' || name.startsWith('Object.')
    ? { kind: 'object', name, field: () => dyn }
    : undefined;
}

const patchType = fields('JSONPatch', { op: string, path: string, from: string, value: dyn });

export type CheckedExpression =
  | { readonly program: Program; readonly problem?: undefined }
  | { readonly program?: undefined; readonly problem: string };

/** @param wanted names of the types that the expression may have; absent: any */
export function compileFor(
  text: string,
  environment: Environment,
  wanted?: readonly string[],
): CheckedExpression {
  const { program, errors }: Compilation = compile(text, environment);
  if (program === undefined) return { problem: `compilation failed: ${errors}` };
  const found = program.type.kind === 'null' ? 'null_type' : typeText(program.type);
  if (!wanted || found === 'dyn' || wanted.includes(found)) return { program };
  const names = wanted.length === 1 ? wanted[0] : `one of [${wanted.join(' ')}]`;
  return { problem: `must evaluate to ${names} but got ${found}` };
}

/** A condition of a webhook: `object`, `oldObject`, `request` and `authorizer` are there, and it gives a bool. */
export const compileCondition = (expression: string): CheckedExpression =>
  compileFor(expression, admissionEnvironment(), ['bool']);
