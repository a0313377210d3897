/** Volume access: what persistent volumes and claims have in common — access modes, class, mode, and their cells. */
import { child, type FieldError, forbidden, invalid, notSupported } from '../fielderror.ts';
import { isSubdomain1123 } from '../names.ts';
import type { ApiObject } from '../object.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const volumeModes = ['Block', 'Filesystem'];
const classAnnotation = 'volume.beta.kubernetes.io/storage-class';

/** Short forms in the order tables show them. */
const shortModes: readonly [mode: string, short: string][] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
];

interface AccessSpec {
  accessModes?: string[];
  storageClassName?: string;
  volumeMode?: string;
}

/** An empty list is for the caller to judge. */
export function accessModeErrors(modes: readonly string[] | undefined, path: string): FieldError[] {
  const listed = modes ?? [];
  const errors = listed
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(path, mode, accessModes));
  const known = new Set(listed.filter((mode) => accessModes.includes(mode)));
  if (known.has('ReadWriteOncePod') && known.size > 1)
    errors.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'));
  return errors;
}

export function classErrors({ storageClassName, volumeMode }: AccessSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (storageClassName)
    for (const problem of isSubdomain1123(storageClassName))
      errors.push(invalid(child(path, 'storageClassName'), storageClassName, problem));
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode))
    errors.push(notSupported(child(path, 'volumeMode'), volumeMode, volumeModes));
  return errors;
}

export function accessModesCell(modes: readonly string[] | undefined): string {
  const listed = new Set(modes);
  return shortModes.flatMap(([mode, short]) => (listed.has(mode) ? [short] : [])).join(',');
}

/** The old annotation wins over the field. */
export const classCell = ({ metadata }: ApiObject, spec: AccessSpec | undefined): string =>
  metadata.annotations?.[classAnnotation] ?? spec?.storageClassName ?? '';

export const phaseCell = ({ metadata }: ApiObject, phase: string | undefined): string =>
  metadata.deletionTimestamp ? 'Terminating' : (phase ?? '');

export const orUnset = (text: string | undefined): string => text || '<unset>';
