/** PersistentVolumeClaim: a request for storage. */
import { type FieldError, forbidden, invalid, key, notSupported } from '../../errors/field-error.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { modelOf } from '../../model/model.ts';
import { claimProtection } from '../../rules/pod/in-use-protection.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { roundResources } from '../../rules/shared/resource-name.ts';
import { alignDataSources, claimSpecErrors, defaultClaimSpec } from '../../rules/storage/claim-spec.ts';
import { claimSpecWarnings } from '../../rules/storage/claim-warnings.ts';
import {
  accessModesCell,
  classCell,
  orUnset,
  phaseCell,
  storageClassAnnotation,
} from '../../rules/storage/volume-access.ts';
import { compareQuantities, parseQuantity, type Quantity, sign, toNumber } from '../../values/quantity.ts';

/**
 * The new spec with the mutable fields restored to their old values; any remaining difference is refused. Equal
 * amounts are restored, however they are written.
 */
function withoutAllowedChanges(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec,
  bound: boolean,
): PersistentVolumeClaimSpec {
  const rest = { ...spec };
  if (!old.volumeName) rest.volumeName = undefined;
  if (old.storageClassName === undefined) rest.storageClassName = undefined;
  if (bound) rest.volumeAttributesClassName = old.volumeAttributesClassName;
  const storage = old.resources?.requests?.['storage'];
  const requests = spec.resources?.requests;
  if (requests && storage !== undefined) {
    const equal = compareQuantities(storageOf(requests), parseQuantity(storage)) === 0;
    if (bound || equal) rest.resources = { ...spec.resources, requests: { ...requests, storage } };
  }
  return rest;
}

const storageOf = (list: Readonly<Record<string, string>> | undefined): Quantity =>
  parseQuantity(list?.['storage'] ?? '0');

function* capacityErrors(capacity: Readonly<Record<string, string>> = {}): Findings {
  for (const [name, quantity] of Object.entries(capacity)) {
    const value = parseQuantity(quantity);
    // Kubernetes prints the plain number here, rounded away from zero.
    if (sign(value) < 0)
      yield invalid(
        key('status.capacity', name),
        Math.floor(toNumber(value)),
        'must be a valid resource quantity',
      );
  }
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

function* statusErrors({ status }: PersistentVolumeClaim): Findings {
  yield* capacityErrors(status?.capacity);
  // Kubernetes shows the resource rather than its state.
  for (const [name, state] of Object.entries(status?.allocatedResourceStatuses ?? {}))
    if (!resizeStates.includes(state))
      yield notSupported('status.allocatedResourceStatuses', name, resizeStates);
}

/** A volume cannot lose its attributes again. */
function attributesErrors(
  { volumeAttributesClassName: now }: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaim,
): FieldError[] {
  const before = old.spec?.volumeAttributesClassName;
  if (now === before || now || old.status?.currentVolumeAttributesClassName === undefined) return [];
  const what = now === undefined ? 'nil' : 'empty string';
  return [
    forbidden(
      'spec.volumeAttributesClassName',
      `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    ),
  ];
}

export const persistentVolumeClaim = defineKind<PersistentVolumeClaim>({
  kind: 'PersistentVolumeClaim',
  resource: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  namespaced: true,
  subresources: [status({ validate: (claim) => collect(statusErrors(claim)) })],
  deletion: { returnsObject: true, protection: claimProtection },

  // The volume is chosen by the binder, and the class may be the default one; neither may change.
  takeServerValues(claim, old) {
    const spec = (claim.spec ??= {});
    spec.volumeName ??= old.spec?.volumeName;
    spec.volumeMode ??= old.spec?.volumeMode;
    spec.storageClassName ??= old.spec?.storageClassName;
  },
  defaults(claim) {
    defaultClaimSpec((claim.spec ??= {}));
    roundResources(claim.status?.capacity);
    claim.status = { ...claim.status, phase: claim.status?.phase || 'Pending' };
  },
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
    alignDataSources((claim.spec ??= {}));
  },
  prepareForUpdate: (claim, old) => alignDataSources((claim.spec ??= {}), old.spec),

  validate: ({ spec = {} }) => collect(claimSpecErrors(spec, 'spec')),
  validateUpdate({ spec = {} }, old) {
    const { status: oldStatus } = old;
    const oldSpec = { ...old.spec };
    alignDataSources(oldSpec, oldSpec);
    const errors: FieldError[] = [];
    const rest = withoutAllowedChanges(spec, oldSpec, oldStatus?.phase === 'Bound');
    const changed = changedFields(modelOf('PersistentVolumeClaimSpec'), rest, oldSpec);
    if (changed.length)
      errors.push(
        forbidden(
          'spec',
          `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\nchanged: ${changed.join(', ')}`,
        ),
      );
    const storage = storageOf(spec.resources?.requests);
    const lowered = compareQuantities(storage, storageOf(oldSpec.resources?.requests)) < 0;
    if (lowered && compareQuantities(storage, storageOf(oldStatus?.capacity)) <= 0)
      errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
    errors.push(...attributesErrors(spec, old));
    return errors;
  },
  warnings: ({ metadata, spec }) => [
    ...(metadata.annotations?.[storageClassAnnotation] === undefined
      ? []
      : [
          `metadata.annotations[${storageClassAnnotation}]: deprecated since v1.8; use "storageClassName" attribute instead`,
        ]),
    ...claimSpecWarnings(spec, 'spec'),
  ],

  columns: [
    nameColumn,
    { name: 'Status', description: 'Whether the claim has a volume.' },
    { name: 'Volume', description: 'The volume the claim is bound to.' },
    { name: 'Capacity', description: 'How much the volume holds.' },
    { name: 'Access Modes', description: 'How the volume can be mounted.' },
    { name: 'StorageClass', description: 'The class the volume must belong to.' },
    { name: 'VolumeAttributesClass', description: 'The class of attributes the volume should have.' },
    ageColumn,
    { name: 'VolumeMode', description: 'File system or raw block device.', wide: true },
  ],
  cells(claim) {
    const { spec, status } = claim;
    const bound = Boolean(spec?.volumeName);
    return [
      claim.metadata.name,
      phaseCell(claim, status?.phase),
      spec?.volumeName ?? '',
      bound ? (status?.capacity?.['storage'] ?? '0') : '',
      bound ? accessModesCell(status?.accessModes) : '',
      classCell(claim),
      orUnset(spec?.volumeAttributesClassName),
      ageCell(claim),
      orUnset(spec?.volumeMode),
    ];
  },
});
