/** Names of the API's types in OpenAPI documents. Client generators depend on them. */
import { packageOf } from '../../api/kinds/builtin-groups.ts';
import type { Model } from '../../api/model/model.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Models of the core table that all groups share. */
const metaModels = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResource',
  'APIResourceList',
  'APIVersions',
  'Condition',
  'CreateOptions',
  'DeleteOptions',
  'FieldSelectorRequirement',
  'GetOptions',
  'GroupVersionForDiscovery',
  'LabelSelector',
  'LabelSelectorRequirement',
  'ListMeta',
  'ListOptions',
  'ManagedFieldsEntry',
  'ObjectMeta',
  'OwnerReference',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
  'PatchOptions',
  'Preconditions',
  'ServerAddressByClientCIDR',
  'ShardInfo',
  'Status',
  'StatusCause',
  'StatusDetails',
  'Table',
  'TableColumnDefinition',
  'TableOptions',
  'TableRow',
  'TableRowCondition',
  'UpdateOptions',
  'WatchEvent',
]);
const authenticationModels = new Set([
  'BoundObjectReference',
  'TokenRequest',
  'TokenRequestSpec',
  'TokenRequestStatus',
]);

const extensionsPackage = packageOf('apiextensions-v1');

/** Types without fields that have a definition of their own, and their Kubernetes packages. */
export const valueNames = {
  FieldsV1: `${metaPackage}.FieldsV1`,
  IntOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  JSON: `${extensionsPackage}.JSON`,
  JSONSchemaPropsOrArray: `${extensionsPackage}.JSONSchemaPropsOrArray`,
  JSONSchemaPropsOrBool: `${extensionsPackage}.JSONSchemaPropsOrBool`,
  JSONSchemaPropsOrStringArray: `${extensionsPackage}.JSONSchemaPropsOrStringArray`,
  MicroTime: `${metaPackage}.MicroTime`,
  Patch: `${metaPackage}.Patch`,
  Quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  RawExtension: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
  Time: `${metaPackage}.Time`,
} as const;

export type ValueName = keyof typeof valueNames;

/** `io.k8s.api.core.v1.Pod`; `com.example.v1.Widget` for a kind that is added at run time. */
export function definitionName({ file, name }: Model): string {
  if (file.includes('/')) {
    const { group, version } = splitApiVersion(file);
    return [...group.split('.').reverse(), version, name].join('.');
  }
  if (file === 'core-v1') {
    if (metaModels.has(name)) return `${metaPackage}.${name}`;
    if (authenticationModels.has(name)) return `${packageOf('authentication-v1')}.${name}`;
    if (name === 'Eviction') return `${packageOf('policy-v1')}.${name}`;
  }
  return `${packageOf(file)}.${name}`;
}

/** The kind of a model; undefined for models that are only parts of others. */
export function groupVersionKind(model: Model): GroupVersionKind | undefined {
  const { gvk } = model.definition;
  if (gvk === undefined) {
    // Some field tables do not name their kinds: a model that begins with `kind` and has metadata is one.
    if (model.order[0]?.name !== 'kind' || !model.fields.has('metadata')) return undefined;
    if (model.file.includes('/')) return { ...splitApiVersion(model.file), kind: model.name };
    const [group, version] = model.file.split('-') as [string, string];
    return { group: group === 'core' ? '' : group, kind: model.name, version };
  }
  const parts = gvk.split('/');
  return { group: parts.length > 2 ? parts[0]! : '', kind: parts.at(-1)!, version: parts.at(-2)! };
}

/** Splits `extensions/v1beta1`. */
export function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) };
}

/** A group as part of a name: `apps`, `rbacAuthorization`, `jobsXExampleCom` for `jobs.x-example.com`; `core` for the core. */
export function groupWord(group: string): string {
  const [first, ...rest] = group.replace(/\.k8s\.io$/, '').split(/[^A-Za-z0-9_]+/);
  return first ? first + rest.map(capital).join('') : 'core';
}

export const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Where a version is served: `/api/v1`, `/apis/extensions/v1beta1`. */
export const prefixOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
