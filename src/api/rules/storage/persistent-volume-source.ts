/**
 * Sources of persistent volumes: the storage behind them. A volume has exactly one source; each type of source has a
 * few required fields.
 */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../errors/field-error.ts';
import type { PersistentVolumeSpec } from '../../generated/types.ts';
import { modelOf } from '../../model/model.ts';
import type { JsonObject } from '../../text/object.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { changedFields } from '../shared/change.ts';

const driverBytesMax = 63;
const lunMax = 255;
const partitionMax = 255;

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** Anchored and without overlapping repeats, so that matching is linear: a name may be as long as a body. */
const iscsiNames: readonly [prefix: string, shape: RegExp][] = [
  ['iqn', /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/],
  ['eui', /^eui\.[A-Za-z0-9]{16}$/],
  ['naa', /^naa\.[A-Za-z0-9]{32}$/],
];

type Sources = Omit<
  PersistentVolumeSpec,
  | 'accessModes'
  | 'capacity'
  | 'claimRef'
  | 'mountOptions'
  | 'nodeAffinity'
  | 'persistentVolumeReclaimPolicy'
  | 'storageClassName'
  | 'volumeAttributesClassName'
  | 'volumeMode'
>;
type SourceName = keyof Sources;
type Rules = {
  readonly [Name in SourceName]-?: (source: NonNullable<Sources[Name]>, path: string) => FieldError[];
};

/** In Kubernetes' order: the first one set is the volume's source, and more are an error. */
const rules: Rules = {
  hostPath(source, path) {
    const errors = needed(source, path, 'path');
    errors.push(...backstepErrors(source.path, child(path, 'path')));
    if (source.type !== undefined && !hostPathTypes.includes(source.type))
      errors.push(notSupported(child(path, 'type'), source.type, hostPathTypes));
    return errors;
  },
  // Its errors use an older name of the field, as in Kubernetes.
  gcePersistentDisk: (source, path) =>
    diskErrors(source, path.replace(/gcePersistentDisk$/, 'persistentDisk'), 'pdName'),
  awsElasticBlockStore: (source, path) => diskErrors(source, path, 'volumeID'),
  glusterfs: (source, path) => needed(source, path, 'endpoints', 'path'),
  flocker(source, path) {
    const { datasetName = '', datasetUUID = '' } = source;
    const errors: FieldError[] = [];
    if (!datasetName && !datasetUUID)
      errors.push(required(path, 'one of datasetName and datasetUUID is required'));
    if (datasetName && datasetUUID)
      errors.push(
        invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'),
      );
    if (datasetName.includes('/'))
      errors.push(invalid(child(path, 'datasetName'), datasetName, "must not contain '/'"));
    return errors;
  },
  nfs(source, path) {
    const errors = needed(source, path, 'server', 'path');
    if (source.path && !source.path.startsWith('/'))
      errors.push(invalid(child(path, 'path'), source.path, 'must be an absolute path'));
    return errors;
  },
  rbd: (source, path) => needed(source, path, 'monitors', 'image'),
  quobyte: (source, path) => needed(source, path, 'registry', 'volume'),
  cephfs: (source, path) => needed(source, path, 'monitors'),
  iscsi(source, path) {
    const errors = needed(source, path, 'targetPortal', 'iqn');
    const { iqn, lun = 0 } = source;
    const known = iscsiNames.find(([prefix]) => iqn?.startsWith(prefix));
    if (iqn && !known)
      errors.push(invalid(child(path, 'iqn'), iqn, 'must be valid format starting with iqn, eui, or naa'));
    else if (iqn && !known?.[1].test(iqn))
      errors.push(invalid(child(path, 'iqn'), iqn, 'must be valid format'));
    errors.push(...lunErrors(lun, path));
    return errors;
  },
  cinder: (source, path) => needed(source, path, 'volumeID'),
  fc(source, path) {
    if (!source.targetWWNs?.length)
      return source.wwids?.length
        ? []
        : [required(child(path, 'targetWWNs'), 'must specify either targetWWNs or wwids, but not both')];
    if (source.lun === undefined)
      return [required(child(path, 'lun'), 'lun is required if targetWWNs is specified')];
    return lunErrors(source.lun, path);
  },
  flexVolume: (source, path) => needed(source, path, 'driver'),
  azureFile: (source, path) => needed(source, path, 'secretName', 'shareName'),
  vsphereVolume: (source, path) => needed(source, path, 'volumePath'),
  photonPersistentDisk: (source, path) => needed(source, path, 'pdID'),
  portworxVolume: (source, path) => needed(source, path, 'volumeID'),
  azureDisk: (source, path) => needed(source, path, 'diskName', 'diskURI'),
  scaleIO: (source, path) => needed(source, path, 'gateway', 'system', 'volumeName'),
  local: (source, path) => [
    ...needed(source, path, 'path'),
    ...backstepErrors(source.path, child(path, 'path')),
  ],
  storageos: (source, path) => needed(source, path, 'volumeName'),
  csi(source, path) {
    const errors = needed(source, path, 'driver', 'volumeHandle');
    const driver = source.driver ?? '';
    if (Buffer.byteLength(driver) > driverBytesMax)
      errors.push(tooLong(child(path, 'driver'), driverBytesMax));
    if (driver)
      for (const problem of isSubdomain1123(driver.toLowerCase()))
        errors.push(invalid(child(path, 'driver'), driver, problem));
    return errors;
  },
};

const sourceNames = Object.keys(rules) as SourceName[];

/** The names of an object's text or list fields that are missing or empty. */
function needed<Source extends object>(
  source: Source,
  path: string,
  ...names: (keyof Source & string)[]
): FieldError[] {
  const missing = names.filter((name) => !(source[name] as string | readonly string[] | undefined)?.length);
  return missing.map((name) => required(child(path, name)));
}

function diskErrors<Source extends { partition?: number }>(
  source: Source,
  path: string,
  name: keyof Source & string,
): FieldError[] {
  const errors = needed(source, path, name);
  const partition = source.partition ?? 0;
  if (partition < 0 || partition > partitionMax)
    errors.push(
      invalid(child(path, 'partition'), partition, `must be between 1 and ${partitionMax}, inclusive`),
    );
  return errors;
}

const lunErrors = (lun: number, path: string): FieldError[] =>
  lun < 0 || lun > lunMax
    ? [invalid(child(path, 'lun'), lun, `must be between 0 and ${lunMax}, inclusive`)]
    : [];

const backstepErrors = (value: string | undefined, path: string): FieldError[] =>
  value && /(?:^|\/)\.\.(?:\/|$)/.test(value) ? [invalid(path, value, "must not contain '..'")] : [];

/** Sets the defaults of the field tables, and the type of a host path. */
export function defaultSource(spec: PersistentVolumeSpec): void {
  const fields = modelOf('PersistentVolumeSpec').fields;
  for (const name of sourceNames) {
    const source = spec[name] as JsonObject | undefined;
    if (source)
      for (const { name: part, definition } of fields.get(name)!.model.order)
        if (definition.default !== undefined) source[part] ??= definition.default;
  }
  if (spec.hostPath) spec.hostPath.type ??= '';
}

export function sourceErrors(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const [first, ...others] = sourceNames.filter((name) => spec[name] !== undefined);
  if (!first) return [required(path, 'must specify a volume type')];
  const check = rules[first] as (source: unknown, path: string) => FieldError[];
  return [
    ...check(spec[first], child(path, first)),
    ...others.map((name) => forbidden(child(path, name), 'may not specify more than 1 volume type')),
  ];
}

/** Sources that an update would change. Only the expansion secret of a CSI volume may be added later. */
export function changedSources(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): string[] {
  const { csi } = spec;
  const addsSecret = csi?.controllerExpandSecretRef && old.csi && !old.csi.controllerExpandSecretRef;
  const compared = addsSecret ? { ...spec, csi: { ...csi, controllerExpandSecretRef: undefined } } : spec;
  const changed = new Set(changedFields(modelOf('PersistentVolumeSpec'), compared, old));
  return sourceNames.filter((name) => changed.has(name));
}
