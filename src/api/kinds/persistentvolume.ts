/** PersistentVolume: a piece of storage in the cluster. */
import { type FieldError, forbidden, invalid, key, notSupported, required } from '../fielderror.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { parseQuantity, sign } from '../quantity.ts';
import { ageCell, ageColumn, nameColumn } from './columns.ts';
import { changedSources, defaultSource, sourceErrors } from './persistentvolumesource.ts';
import { roundResources } from './resourcename.ts';
import {
  accessModeErrors,
  accessModesCell,
  classCell,
  classErrors,
  orUnset,
  phaseCell,
} from './volumeaccess.ts';

const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];

function capacityErrors(capacity: Readonly<Record<string, string>> | undefined): FieldError[] {
  const path = 'spec.capacity';
  const names = Object.keys(capacity ?? {});
  const errors: FieldError[] = [];
  if (!names.length) errors.push(required(path));
  if (names.length !== 1 || names[0] !== 'storage')
    errors.push(notSupported(path, capacity ?? null, ['storage']));
  for (const [name, quantity] of Object.entries(capacity ?? {}))
    if (sign(parseQuantity(quantity)) <= 0)
      errors.push(invalid(key(path, name), quantity, 'must be greater than zero'));
  return errors;
}

function affinityErrors({ local, nodeAffinity }: PersistentVolumeSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (nodeAffinity && !nodeAffinity.required)
    errors.push(required('spec.nodeAffinity.required', 'must specify required node constraints'));
  if (local && !nodeAffinity?.required)
    errors.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
  return errors;
}

/** Whether a path leads to the root after all its `.` and `..`. */
function isRoot(path: string | undefined): boolean {
  let depth = 0;
  for (const part of path?.split('/') ?? []) {
    if (part === '..') depth = Math.max(depth - 1, 0);
    else if (part !== '' && part !== '.') depth += 1;
  }
  return depth === 0 && path !== undefined && path.startsWith('/');
}

export const persistentVolume = defineKind<PersistentVolume>({
  kind: 'PersistentVolume',
  resource: 'persistentvolumes',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  namespaced: false,
  subresources: [statusSubresource],
  deleteReturnsObject: true,

  defaults(volume) {
    const spec = (volume.spec ??= {});
    spec.persistentVolumeReclaimPolicy ||= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    defaultSource(spec);
    roundResources(spec.capacity);
    volume.status = { ...volume.status, phase: volume.status?.phase || 'Pending' };
  },
  prepareForCreate(volume, context) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: context.now };
  },
  prepareStatusUpdate(volume, old, context) {
    const status = (volume.status ??= {});
    const before = old.status?.lastPhaseTransitionTime;
    if (status.phase === old.status?.phase) status.lastPhaseTransitionTime ??= before;
    else if (!status.lastPhaseTransitionTime || status.lastPhaseTransitionTime === before)
      status.lastPhaseTransitionTime = context.now;
  },

  validate({ spec = {} }) {
    const errors: FieldError[] = [];
    const policy = spec.persistentVolumeReclaimPolicy;
    if (!spec.accessModes?.length) errors.push(required('spec.accessModes'));
    errors.push(...accessModeErrors(spec.accessModes, 'spec.accessModes'), ...capacityErrors(spec.capacity));
    if (policy && !reclaimPolicies.includes(policy))
      errors.push(notSupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies));
    errors.push(...sourceErrors(spec, 'spec'), ...affinityErrors(spec));
    if (policy === 'Recycle' && isRoot(spec.hostPath?.path))
      errors.push(
        forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"),
      );
    errors.push(...classErrors(spec, 'spec'));
    return errors;
  },
  validateUpdate({ spec = {} }, old) {
    const errors: FieldError[] = [];
    const changed = changedSources(spec, old.spec ?? {});
    if (changed.length)
      errors.push(
        forbidden(
          'spec.persistentvolumesource',
          `spec.persistentvolumesource is immutable after creation\nchanged: ${changed.join(', ')}`,
        ),
      );
    if (spec.volumeMode !== old.spec?.volumeMode)
      errors.push(invalid('volumeMode', spec.volumeMode ?? null, 'field is immutable'));
    return errors;
  },

  columns: [
    nameColumn,
    { name: 'Capacity', description: 'How much the volume holds.' },
    { name: 'Access Modes', description: 'How the volume can be mounted.' },
    { name: 'Reclaim Policy', description: 'What becomes of the volume when its claim is gone.' },
    { name: 'Status', description: 'Whether the volume is free, bound or released.' },
    { name: 'Claim', description: 'The claim that has the volume.' },
    { name: 'StorageClass', description: 'The class the volume belongs to.' },
    { name: 'VolumeAttributesClass', description: 'The class of attributes the volume has.' },
    { name: 'Reason', description: 'Why the volume is in its status.' },
    ageColumn,
    { name: 'VolumeMode', description: 'File system or raw block device.', wide: true },
  ],
  cells(volume, nowMs) {
    const { spec, status } = volume;
    return [
      volume.metadata.name,
      spec?.capacity?.['storage'] ?? '0',
      accessModesCell(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? '',
      phaseCell(volume, status?.phase),
      spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '',
      classCell(volume, spec),
      orUnset(spec?.volumeAttributesClassName),
      status?.reason ?? '',
      ageCell(volume, nowMs),
      orUnset(spec?.volumeMode),
    ];
  },
});
