/**
 * The inner form of a value: how Go prints the structs in which Kubernetes keeps objects. Errors about a whole struct show
 * it. Fields are capitalized and always there; types of apimachinery, such as selectors, look as on the wire.
 */

import type { JsonObject } from '../text/object.ts';
import { normalized } from './encode.ts';
import type { Field, Model } from './model.ts';

/** Models that are the same in all versions, and keep their JSON. */
const unversioned: ReadonlySet<string> = new Set(['LabelSelector', 'ObjectMeta', 'Condition', 'ListMeta']);

/** Fields whose names are not just capitalized, as `Model.field` or for all models. */
const goNames: Readonly<Record<string, string>> = {
  'DeviceAttribute.int': 'IntValue',
  'DeviceAttribute.bool': 'BoolValue',
  'DeviceAttribute.string': 'StringValue',
  'DeviceAttribute.version': 'VersionValue',
  'DeviceAttribute.ints': 'IntValues',
  'DeviceAttribute.bools': 'BoolValues',
  'DeviceAttribute.strings': 'StringValues',
  'DeviceAttribute.versions': 'VersionValues',
  apiGroup: 'APIGroup',
  awsElasticBlockStore: 'AWSElasticBlockStore',
  cel: 'CEL',
  cephfs: 'CephFS',
  cidrs: 'CIDRs',
  csi: 'CSI',
  fc: 'FC',
  fsType: 'FSType',
  gcePersistentDisk: 'GCEPersistentDisk',
  ips: 'IPs',
  iscsi: 'ISCSI',
  nfs: 'NFS',
  rbd: 'RBD',
  storageos: 'StorageOS',
  uid: 'UID',
};

const goName = (model: Model, name: string): string =>
  goNames[`${model.name}.${name}`] ?? goNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

export function innerForm(model: Model, value: object | undefined): JsonObject {
  const object = (value ?? {}) as JsonObject;
  const out: JsonObject = {};
  // The metadata of a template is embedded, so its fields are in the struct itself.
  for (const field of model.order)
    if (field.name === 'metadata') Object.assign(out, metadataOf(field, object[field.name]));
    else out[goName(model, field.name)] = innerValue(field, object[field.name]);
  return out;
}

/** Without the creation time, which is left out when it is unset. */
function metadataOf(field: Field, value: unknown): JsonObject {
  const { creationTimestamp, ...rest } = normalized(field.model, (value ?? {}) as JsonObject);
  return creationTimestamp ? { ...rest, creationTimestamp } : rest;
}

function innerValue(field: Field, value: unknown): unknown {
  if (value === undefined || value === null) return zeroValue(field);
  switch (field.type) {
    case 'model':
      return structOf(field.model, value as JsonObject);
    case 'array':
      return (value as unknown[]).map((item) => innerValue(field.items!, item));
    case 'map':
      return Object.fromEntries(
        Object.keys(value as JsonObject)
          .sort()
          .map((name) => [name, innerValue(field.values!, (value as JsonObject)[name])]),
      );
    default:
      return value;
  }
}

const structOf = (model: Model, value: JsonObject): JsonObject =>
  unversioned.has(model.name) ? normalized(model, value) : innerForm(model, value);

function zeroValue(field: Field): unknown {
  if (field.ptr) return null;
  switch (field.type) {
    case 'model':
      return structOf(field.model, {});
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    default:
      return null;
  }
}
