/**
 * Operations: all requests that the resources of one version accept, derived from discovery, so that documents
 * describe exactly what is served.
 */
import type { KindTable } from '../../../api/kinds/kinds.ts';
import { findModel, type Model, modelOf } from '../../../api/model/model.ts';
import type { Discovery, DiscoveryResource } from '../discovery.ts';
import { capital, type GroupVersionKind, groupWord, prefixOf, splitApiVersion } from '../model-names.ts';
import {
  answerTypes,
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  type Parameter,
  parameter,
  patchParameters,
  writeParameters,
} from './parameters.ts';

type Method = 'delete' | 'get' | 'head' | 'options' | 'patch' | 'post' | 'put';

export interface Operation {
  readonly path: string;
  readonly method: Method;
  readonly id: string;
  readonly description: string;
  /** The value of `x-kubernetes-action`; undefined for discovery. */
  readonly action?: string;
  readonly gvk?: GroupVersionKind;
  /** Query parameters; path parameters are not included. */
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly model: Model | 'Patch'; readonly required: boolean };
  /** Model of a successful answer; undefined for plain text. */
  readonly answer?: Model;
  /** The answer is that of `/version`, which has no model. */
  readonly isVersion?: true;
  /** What documents group it by, when that is not its version. */
  readonly tag?: string;
  /** Formats of a patch, when they are not the usual ones. */
  readonly patchTypes?: readonly string[] | undefined;
  /** Media types of an answer, when they are not the usual ones. */
  readonly answerTypes?: readonly string[] | undefined;
  /** Media types of a request that is no patch, when it is not any. */
  readonly requestTypes?: readonly string[];
  /** The custom kind whose resource it is about. */
  readonly custom?: GroupVersionKind;
  /** Codes of a success, when they are not the usual ones. */
  readonly codes?: readonly SuccessCode[];
  /** A create at the path of all namespaces, which no minor of Kubernetes has. */
  readonly isOutside?: true;
  /** Not described in Swagger 1.2, or described there in another way. */
  readonly isNew?: true;
}

type SuccessCode = 200 | 201 | 202;

/** The codes that a success may have; the same as Kubernetes lists. */
export function successCodes({ action, codes, method }: Operation): readonly SuccessCode[] {
  if (codes) return codes;
  switch (action) {
    case 'post':
      return [200, 201, 202];
    case 'put':
    case 'patch':
      return [200, 201];
    case 'delete':
      return method === 'delete' ? [200, 202] : [200];
    default:
      return [200];
  }
}

/** One resource or subresource, with everything that its operations share. */
interface Subject {
  readonly apiVersion: string;
  readonly prefix: string;
  readonly resource: string;
  readonly part: string | undefined;
  readonly namespaced: boolean;
  readonly gvk: GroupVersionKind;
  /** Prefix of operation ids: `CoreV1`. */
  readonly family: string;
  /** Kind of the parent object; the same as the gvk's for a whole resource. */
  readonly owner: string;
  readonly model: Model;
  readonly verbs: readonly string[];
  readonly deleteAnswer: Model;
  readonly patchTypes: readonly string[] | undefined;
  readonly isCustom: boolean;
}

/** All operations of a version. Resources whose kind has no model are left out. */
export function operationsOf(discovery: Discovery, kinds: KindTable, apiVersion: string): Operation[] {
  const operations: Operation[] = [groupVersionOperation(apiVersion)];
  for (const resource of discovery.resourceList(apiVersion)?.resources ?? []) {
    const subject = subjectOf(kinds, apiVersion, resource);
    if (!subject) continue;
    operations.push(...ofCustomKind(subject, operationsOn(subject)));
  }
  return operations;
}

function operationsOn(subject: Subject): Operation[] {
  if (isConnection(subject)) return connections(subject);
  if (subject.part !== undefined) return itemOperations(subject);
  return [...collectionOperations(subject), ...itemOperations(subject), ...watches(subject)];
}

function ofCustomKind({ apiVersion, isCustom, owner }: Subject, operations: Operation[]): Operation[] {
  if (!isCustom) return operations;
  const custom = { ...splitApiVersion(apiVersion), kind: owner };
  return operations.map((operation) => ({ ...operation, custom, answerTypes: customTypes }));
}

function groupVersionOperation(apiVersion: string): Operation {
  return {
    path: `${prefixOf(apiVersion)}/`,
    method: 'get',
    id: `get${familyOf(apiVersion)}APIResources`,
    description: `Lists the resources of ${apiVersion}.`,
    parameters: [],
    answer: modelOf('APIResourceList'),
  };
}

function subjectOf(kinds: KindTable, apiVersion: string, described: DiscoveryResource): Subject | undefined {
  const [resource, part] = described.name.split('/') as [string, string | undefined];
  const home = splitApiVersion(apiVersion);
  const gvk = {
    group: described.group ?? home.group,
    kind: described.kind,
    version: described.version ?? home.version,
  };
  const model = modelFor(kinds, gvk);
  if (!model) return undefined;
  const kind = kinds.resource(apiVersion, resource);
  const owner = part === undefined ? gvk.kind : (kind ?? kinds.resource('v1', resource))?.kind;
  return {
    apiVersion,
    prefix: prefixOf(apiVersion),
    resource,
    part,
    namespaced: described.namespaced,
    gvk,
    family: familyOf(apiVersion),
    patchTypes: kind?.custom ? customPatchTypes : undefined,
    isCustom: kind?.custom === true,
    owner: owner ?? gvk.kind,
    model,
    verbs: described.verbs,
    deleteAnswer: kind?.deletion.returnsObject ? model : modelOf('Status'),
  };
}

function modelFor(kinds: KindTable, { group, kind, version }: GroupVersionKind): Model | undefined {
  const known = kinds.kind(group ? `${group}/${version}` : version, kind);
  // Field tables are named after groups; models that all groups share, or whose group has none, are in the core's.
  return (
    (known && kinds.shown(known).model) ??
    findModel(kind, `${group.split('.')[0] || 'core'}-${version}`) ??
    findModel(kind)
  );
}

/** `extensions/v1beta1` → `ExtensionsV1beta1`. */
function familyOf(apiVersion: string): string {
  const { group, version } = splitApiVersion(apiVersion);
  return capital(groupWord(group)) + capital(version);
}

const customPatchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];

/** Media types of custom objects. */
export const customTypes: readonly string[] = ['application/json', 'application/yaml'];

const parametersOf = (names: readonly string[]): Parameter[] => names.map(parameter);

/** The path of the collection, in one namespace or in all. */
const collectionPath = ({ prefix, namespaced, resource }: Subject, allNamespaces: boolean): string =>
  namespaced && !allNamespaces ? `${prefix}/namespaces/{namespace}/${resource}` : `${prefix}/${resource}`;

function collectionOperations(subject: Subject): Operation[] {
  const { family, gvk, model, namespaced, resource, verbs } = subject;
  const list = model.models.find(model.definition.custom?.listKind ?? `${model.name}List`, model.file);
  const operations: Operation[] = [];
  for (const all of namespaced ? [true, false] : [false]) {
    const path = collectionPath(subject, all);
    const name = namespaced && !all ? `Namespaced${gvk.kind}` : gvk.kind;
    const where = all ? ' in all namespaces' : '';
    if (verbs.includes('list') && list)
      operations.push({
        path,
        method: 'get',
        id: `list${family}${name}${all ? 'ForAllNamespaces' : ''}`,
        description: `List of ${resource}${where}; with watch=true, a stream of changes to them.`,
        action: 'list',
        gvk,
        parameters: parametersOf(listParameters),
        answer: list,
      });
    if (verbs.includes('create') && !(all && model.definition.custom))
      operations.push({
        path,
        method: 'post',
        id: `create${family}${name}${all ? 'WhereItSays' : ''}`,
        description: `Creates a ${gvk.kind}${all ? ' in the namespace that it names, or in "default"' : ''}.`,
        action: 'post',
        gvk,
        parameters: parametersOf(writeParameters),
        body: { model, required: true },
        answer: answerOf(subject),
        ...(all && { isOutside: true }),
      });
    if (verbs.includes('deletecollection') && list && !all)
      operations.push({
        path,
        method: 'delete',
        id: `delete${family}Collection${name}`,
        description: `Deletes those in the list of ${resource} that the selectors match.`,
        action: 'deletecollection',
        gvk,
        parameters: parametersOf(deleteCollectionParameters),
        body: { model: modelOf('DeleteOptions'), required: false },
        answer: list,
      });
  }
  return operations;
}

/** A binding or eviction is not stored: the answer is a Status. */
const answerOf = ({ gvk, model }: Subject): Model =>
  gvk.kind === 'Binding' || gvk.kind === 'Eviction' ? modelOf('Status') : model;

function itemOperations(subject: Subject): Operation[] {
  const { family, gvk, model, namespaced, owner, part, verbs } = subject;
  const name = `${namespaced ? 'Namespaced' : ''}${owner}${part ? capital(part) : ''}`;
  const what = part === undefined ? `a ${owner}` : `the ${part} of a ${owner}`;
  const shared = { path: itemPath(subject), gvk };
  const operations: Operation[] = [];
  if (verbs.includes('get'))
    operations.push({
      ...shared,
      method: 'get',
      id: `read${family}${name}`,
      description: `Reads ${what}.`,
      action: 'get',
      parameters: [],
      answer: model,
    });
  if (verbs.includes('update'))
    operations.push({
      ...shared,
      method: 'put',
      id: `replace${family}${name}`,
      description: `Replaces ${what}.`,
      action: 'put',
      parameters: parametersOf(writeParameters),
      body: { model, required: true },
      answer: model,
    });
  if (part !== undefined && verbs.includes('create'))
    operations.push({
      ...shared,
      method: 'post',
      id: `create${family}${name}`,
      description: `Creates ${what}.`,
      action: 'post',
      parameters: parametersOf(writeParameters),
      body: { model, required: true },
      answer: answerOf(subject),
    });
  if (verbs.includes('patch'))
    operations.push({
      ...shared,
      method: 'patch',
      id: `patch${family}${name}`,
      description: `Changes parts of ${what}.`,
      action: 'patch',
      parameters: parametersOf(patchParameters),
      body: { model: 'Patch', required: true },
      patchTypes: subject.patchTypes,
      answer: model,
    });
  if (part === undefined && verbs.includes('delete'))
    operations.push({
      ...shared,
      method: 'delete',
      id: `delete${family}${name}`,
      description: `Deletes ${what}.`,
      action: 'delete',
      parameters: parametersOf(deleteParameters),
      body: { model: modelOf('DeleteOptions'), required: false },
      answer: subject.deleteAnswer,
    });
  return operations;
}

const itemPath = (subject: Subject): string =>
  `${collectionPath(subject, false)}/{name}${subject.part === undefined ? '' : `/${subject.part}`}`;

/** The old form of watches: paths with `/watch/`. */
function watches(subject: Subject): Operation[] {
  const { family, gvk, namespaced, prefix, verbs } = subject;
  if (!verbs.includes('watch')) return [];
  const watch = (path: string, name: string, action: string, what: string): Operation => ({
    path: `${prefix}/watch${path.slice(prefix.length)}`,
    method: 'get',
    id: `watch${family}${name}`,
    description: `Watches ${what}. Lists can watch for changes to the described resources too, with watch=true.`,
    action,
    gvk,
    parameters: parametersOf(listParameters),
    answer: modelOf('WatchEvent'),
  });
  const name = namespaced ? `Namespaced${gvk.kind}` : gvk.kind;
  const objects = `objects of the kind ${gvk.kind}`;
  return [
    ...(namespaced
      ? [watch(collectionPath(subject, true), `${gvk.kind}ListForAllNamespaces`, 'watchlist', objects)]
      : []),
    watch(collectionPath(subject, false), `${name}List`, 'watchlist', objects),
    watch(itemPath(subject), name, 'watch', `one ${gvk.kind}`),
  ];
}

// Connections: log, exec, attach, portforward and proxy

const isConnection = ({ gvk, part }: Subject): boolean =>
  part !== undefined && (part === 'log' || gvk.kind.endsWith('Options'));

const connectVerbs: Readonly<Record<string, Method>> = {
  create: 'post',
  delete: 'delete',
  get: 'get',
  patch: 'patch',
  update: 'put',
};

/** Options are query parameters, and the answer comes from the container. */
function connections(subject: Subject): Operation[] {
  const { family, gvk, namespaced, owner, part, verbs } = subject;
  const isLog = part === 'log';
  const parameters = optionsOf(subject);
  const name = `${namespaced ? 'Namespaced' : ''}${owner}${capital(part!)}`;
  const connect = (method: Method, hasPath: boolean): Operation => ({
    path: `${itemPath(subject)}${hasPath ? '/{path}' : ''}`,
    method,
    id: isLog
      ? `read${family}${name}`
      : `connect${family}${capital(method)}${name}${hasPath ? 'WithPath' : ''}`,
    description: `Connects ${method.toUpperCase()} requests to the ${part} of a ${owner}.`,
    action: isLog ? 'get' : 'connect',
    gvk,
    parameters,
    ...(isLog ? { answerTypes: logTypes } : {}),
    ...(hasPath || method === 'head' || method === 'options' ? { isNew: true } : {}),
  });
  const methods = verbs
    .filter((verb) => Object.hasOwn(connectVerbs, verb))
    .map((verb) => connectVerbs[verb]!);
  if (part !== 'proxy') return methods.map((method) => connect(method, false));
  const all: Method[] = [...methods, 'head', 'options'];
  return [false, true].flatMap((hasPath) => all.map((method) => connect(method, hasPath)));
}

const logTypes: readonly string[] = ['text/plain', ...answerTypes];

/** Options that are texts, numbers or booleans, or lists of them. */
function optionsOf({ model, part }: Subject): Parameter[] {
  const options = part === 'log' ? findModel('PodLogOptions') : model;
  return (options?.order ?? [])
    .filter(({ name, type }) => name !== 'kind' && name !== 'apiVersion' && type !== 'time')
    .map(({ name, type, items }): Parameter => {
      const inner = items?.type ?? type;
      const plain = inner === 'boolean' || inner === 'integer' ? inner : 'string';
      return { name, in: 'query', type: plain, description: `The ${name} option of ${options!.name}.` };
    });
}
