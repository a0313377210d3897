/**
 * Actions: what a request asks for, as authorizers see it. It differs from the request info where authorization differs
 * from routing: a namespace counts as being inside itself, a list of one name by field selector is about that name, and
 * a path keeps its trailing slash. Built when an authorizer asks, and kept with the request info of the URL.
 */
import type { Action, ResourceAction } from '../../api/kind/access.ts';
import { type FieldSelector, parseFieldSelector } from '../../api/kind/field-selector.ts';
import { type LabelSelector, parseLabelSelector } from '../../api/kind/label-selector.ts';
import { isPathSegment } from '../../api/values/names.ts';
import type { RequestInfo, ResourceInfo } from './request-info.ts';

/** Verbs that take selectors. */
const selecting = new Set(['list', 'watch', 'deletecollection']);

/**
 * The backup contains everything that is stored, secrets included, so it is authorized as a resource. Rules for all
 * paths are meant for health and discovery, and must not allow it; rules for all resources allow reading secrets
 * anyway.
 */
const backupPath = '/wherry/backup';
const backups: ResourceAction = {
  group: 'wherry.dev',
  version: 'v1',
  resource: 'backups',
  subresource: undefined,
  namespace: undefined,
  name: undefined,
};

/** Snapshots hold everything, too, and loading one replaces everything. */
const snapshots: ResourceAction = { ...backups, resource: 'snapshots' };
const snapshotsPath = '/wherry/snapshots';
/** An import writes objects of every kind as they are, past all admission. */
const imports: ResourceAction = { ...backups, resource: 'imports' };
const importPath = '/wherry/import';

export const actionOf = (info: RequestInfo): Action => ({
  verb: info.verb,
  path: info.sentPath,
  resource: info.resource ? resourceAction(info, info.resource) : wholeStore(info.path),
});

function wholeStore(path: string): ResourceAction | undefined {
  if (path === backupPath) return backups;
  if (path === importPath) return imports;
  return path === snapshotsPath || path.startsWith(`${snapshotsPath}/`) ? snapshots : undefined;
}

function resourceAction(info: RequestInfo, resource: ResourceInfo): ResourceAction {
  const { name } = resource;
  // In every group: the namespace is taken from the path, whatever the resource.
  const namespace = resource.namespace ?? (resource.resource === 'namespaces' ? name : undefined);
  if (info.queryText === '' || !selecting.has(info.verb)) return { ...resource, namespace };
  const fieldSelector = fieldSelectorOf(info);
  return {
    ...resource,
    namespace,
    name: name ?? selectedName(fieldSelector),
    fieldSelector,
    labelSelector: labelSelectorOf(info),
  };
}

function selectedName(selector: FieldSelector | undefined): string | undefined {
  const name = selector?.requires('metadata.name');
  return name && isPathSegment(name).length === 0 ? name : undefined;
}

const fieldSelectorOf = (info: RequestInfo): FieldSelector | undefined =>
  parsed(() => info.query.get('fieldSelector'), parseFieldSelector);

const labelSelectorOf = (info: RequestInfo): LabelSelector | undefined =>
  parsed(() => info.query.get('labelSelector'), parseLabelSelector);

/** A parsed value; undefined when it is invalid. That allows nothing, and the handler refuses the request. */
function parsed<T>(read: () => string | undefined, parse: (text: string) => T): T | undefined {
  try {
    const text = read();
    return text ? parse(text) : undefined;
  } catch {
    return undefined;
  }
}
