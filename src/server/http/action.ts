/**
 * Actions: what a request asks for, as authorizers see it. It differs from the request info where routing and permission
 * differ: a namespace is in itself, a list of one name by field selector is about that name, and a path keeps the slash at
 * its end. Made when an authorizer asks, and kept with the request info of the URL.
 */
import type { Action, ResourceAction } from '../../api/kind/access.ts';
import { type FieldSelector, parseFieldSelector } from '../../api/kind/field-selector.ts';
import { type LabelSelector, parseLabelSelector } from '../../api/kind/label-selector.ts';
import { isPathSegment } from '../../api/values/names.ts';
import type { RequestInfo, ResourceInfo } from './request-info.ts';

/** Verbs that take selectors. */
const selecting = new Set(['list', 'watch', 'deletecollection']);

/**
 * Everything that is stored, secrets included. As a path it would be covered by rules for all paths, which are meant for
 * health and discovery; as a resource, by rules for all resources, which read secrets anyway.
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

export const actionOf = (info: RequestInfo): Action => ({
  verb: info.verb,
  path: info.sentPath,
  resource: info.resource ? resourceAction(info, info.resource) : wholeStore(info.path),
});

function wholeStore(path: string): ResourceAction | undefined {
  if (path === backupPath) return backups;
  return path === snapshotsPath || path.startsWith(`${snapshotsPath}/`) ? snapshots : undefined;
}

function resourceAction(info: RequestInfo, resource: ResourceInfo): ResourceAction {
  const { name } = resource;
  // In every group: the namespace is read from the path, whatever the path stands for.
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

/** What cannot be read counts as none: it makes nothing allowed, and the handler refuses the request. */
function parsed<T>(read: () => string | undefined, parse: (text: string) => T): T | undefined {
  try {
    const text = read();
    return text ? parse(text) : undefined;
  } catch {
    return undefined;
  }
}
