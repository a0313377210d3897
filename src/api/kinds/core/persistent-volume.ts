/** PersistentVolume: a piece of storage in the cluster. */
import {
  type FieldError,
  forbidden,
  invalid,
  key,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { volumeProtection } from '../../rules/pod/in-use-protection.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { roundResources } from '../../rules/shared/resource-name.ts';
import { changedSources, defaultSource, sourceErrors } from '../../rules/storage/persistent-volume-source.ts';
import { volumeWarnings } from '../../rules/storage/persistent-volume-warnings.ts';
import {
  accessModeErrors,
  accessModesCell,
  classCell,
  classErrors,
  orUnset,
  phaseCell,
} from '../../rules/storage/volume-access.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';

const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];

function* capacityErrors(capacity: Readonly<Record<string, string>> | undefined): Findings {
  const path = 'spec.capacity';
  const names = Object.keys(capacity ?? {});
  if (!names.length) yield required(path);
  if (names.length !== 1 || names[0] !== 'storage') yield notSupported(path, capacity ?? null, ['storage']);
  for (const [name, quantity] of Object.entries(capacity ?? {}))
    if (sign(parseQuantity(quantity)) <= 0)
      yield invalid(key(path, name), quantity, 'must be greater than zero');
}

function* affinityErrors({ local, nodeAffinity }: PersistentVolumeSpec): Findings {
  if (nodeAffinity && !nodeAffinity.required)
    yield required('spec.nodeAffinity.required', 'must specify required node constraints');
  if (local && !nodeAffinity?.required)
    yield required('spec.nodeAffinity', 'Local volume requires node affinity');
}

/** Whether a path is the root after resolving `.` and `..`. */
function isRoot(path: string | undefined): boolean {
  let depth = 0;
  for (const part of path?.split('/') ?? []) {
    if (part === '..') depth = Math.max(depth - 1, 0);
    else if (part !== '' && part !== '.') depth += 1;
  }
  return depth === 0 && path !== undefined && path.startsWith('/');
}

function* specErrors(spec: PersistentVolumeSpec = {}): Findings {
  const policy = spec.persistentVolumeReclaimPolicy;
  if (!spec.accessModes?.length) yield required('spec.accessModes');
  yield* accessModeErrors(spec.accessModes, 'spec.accessModes');
  yield* capacityErrors(spec.capacity);
  if (policy && !reclaimPolicies.includes(policy))
    yield notSupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies);
  yield* sourceErrors(spec, 'spec');
  yield* affinityErrors(spec);
  if (policy === 'Recycle' && isRoot(spec.hostPath?.path))
    yield forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  yield* classErrors(spec, 'spec');
}

export const persistentVolume = defineKind<PersistentVolume>({
  kind: 'PersistentVolume',
  resource: 'persistentvolumes',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  namespaced: false,
  subresources: [
    status({
      prepare(volume, old, context) {
        const status = (volume.status ??= {});
        const before = old.status?.lastPhaseTransitionTime;
        if (status.phase === old.status?.phase) status.lastPhaseTransitionTime ??= before;
        else if (!status.lastPhaseTransitionTime || status.lastPhaseTransitionTime === before)
          status.lastPhaseTransitionTime = context.now;
      },
    }),
  ],
  deletion: { returnsObject: true, protection: volumeProtection },

  takeServerValues(volume, old) {
    (volume.spec ??= {}).volumeMode ??= old.spec?.volumeMode;
  },
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

  validate: ({ spec }) => collect(specErrors(spec)),
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
  warnings: (volume) => [...volumeWarnings(volume)],

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
  cells(volume) {
    const { spec, status } = volume;
    return [
      volume.metadata.name,
      spec?.capacity?.['storage'] ?? '0',
      accessModesCell(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? '',
      phaseCell(volume, status?.phase),
      spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '',
      classCell(volume),
      orUnset(spec?.volumeAttributesClassName),
      status?.reason ?? '',
      ageCell(volume),
      orUnset(spec?.volumeMode),
    ];
  },
});
