/** The spec of a PersistentVolumeClaim, which ephemeral volumes of pods contain, too. */
import { child, type FieldError, invalid, key, required } from '../../errors/field-error.ts';
import type {
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
  TypedObjectReference,
} from '../../generated/types.ts';
import { type LabelSelectorObject, validateLabelSelectorObject } from '../../kind/label-selector.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { roundResources } from '../shared/resource-name.ts';
import { accessModeErrors, classErrors } from './volume-access.ts';

export function defaultClaimSpec(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
  roundResources(spec.resources?.limits);
  roundResources(spec.resources?.requests);
}

/**
 * Makes both fields for the source of a volume say the same, because clients know one of them or both. A source in
 * another namespace is dropped; so is what the older field may not name, unless the claim had a source before.
 */
export function alignDataSources(spec: PersistentVolumeClaimSpec, old?: PersistentVolumeClaimSpec): void {
  if (spec.dataSourceRef?.namespace && !old?.dataSourceRef) delete spec.dataSourceRef;
  const { dataSource, dataSourceRef } = spec;
  const hadSource = old?.dataSource !== undefined || old?.dataSourceRef !== undefined;
  if (dataSource && !dataSourceRef) {
    if (hadSource || isClaimOrSnapshot(dataSource)) spec.dataSourceRef = { ...dataSource };
    else delete spec.dataSource;
  } else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}

const isClaimOrSnapshot = ({ apiGroup = '', kind }: TypedLocalObjectReference): boolean =>
  (kind === 'PersistentVolumeClaim' && apiGroup === '') ||
  (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io');

export function* claimSpecErrors(spec: PersistentVolumeClaimSpec, path: string): Findings {
  const modesPath = child(path, 'accessModes');
  if (!spec.accessModes?.length) yield required(modesPath, 'at least 1 access mode is required');
  yield* validateLabelSelectorObject(spec.selector as LabelSelectorObject, child(path, 'selector'));
  yield* accessModeErrors(spec.accessModes, modesPath);
  // Kubernetes leaves `requests` out of this path.
  yield* storageErrors(spec.resources?.requests?.['storage'], key(child(path, 'resources'), 'storage'));
  yield* classErrors(spec, path);
  for (const name of ['dataSource', 'dataSourceRef'] as const)
    if (spec[name]) yield* dataSourceErrors(spec[name], child(path, name));
  if (spec.dataSource && spec.dataSourceRef)
    yield* sourcePairErrors(spec.dataSource, spec.dataSourceRef, path);
  const attributes = spec.volumeAttributesClassName;
  if (attributes)
    yield* problemsOf(child(path, 'volumeAttributesClassName'), attributes, isSubdomain1123(attributes));
}

function storageErrors(storage: string | undefined, path: string): FieldError[] {
  if (storage === undefined) return [required(path)];
  return sign(parseQuantity(storage)) > 0 ? [] : [invalid(path, storage, 'must be greater than zero')];
}

/** Kubernetes shows `{}` instead of a value here. */
function sourcePairErrors(
  source: TypedLocalObjectReference,
  ref: TypedObjectReference,
  path: string,
): FieldError[] {
  if (ref.namespace)
    return [invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified')];
  const isSame = source.apiGroup === ref.apiGroup && source.kind === ref.kind && source.name === ref.name;
  return isSame ? [] : [invalid(path, {}, 'must match dataSourceRef')];
}

function dataSourceErrors(
  source: TypedLocalObjectReference | TypedObjectReference,
  path: string,
): FieldError[] {
  const { apiGroup, kind = '', name } = source;
  const errors: FieldError[] = [];
  if (!name) errors.push(required(child(path, 'name')));
  if (!kind) errors.push(required(child(path, 'kind')));
  if (!apiGroup && kind !== 'PersistentVolumeClaim')
    errors.push(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  if (apiGroup)
    for (const problem of isSubdomain1123(apiGroup))
      errors.push(invalid(child(path, 'apiGroup'), apiGroup, problem));
  return errors;
}
