/** Volume access: what persistent volumes and claims have in common — access modes, class, mode, and their cells. */
import { child, forbidden, notSupported } from '../../errors/field-error.ts';
import type { ApiObject } from '../../text/object.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const volumeModes = ['Block', 'Filesystem'];
export const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

/** Short forms of access modes, in table order. */
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

/** An empty list is accepted here; callers that need an entry check that. */
export function* accessModeErrors(modes: readonly string[] | undefined, path: string): Findings {
  const known = new Set<string>();
  for (const mode of modes ?? []) {
    if (accessModes.includes(mode)) known.add(mode);
    else yield notSupported(path, mode, accessModes);
  }
  if (known.has('ReadWriteOncePod') && known.size > 1)
    yield forbidden(path, 'may not use ReadWriteOncePod with other access modes');
}

export function* classErrors({ storageClassName, volumeMode }: AccessSpec, path: string): Findings {
  if (storageClassName)
    yield* problemsOf(child(path, 'storageClassName'), storageClassName, isSubdomain1123(storageClassName));
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode))
    yield notSupported(child(path, 'volumeMode'), volumeMode, volumeModes);
}

export function accessModesCell(modes: readonly string[] | undefined): string {
  const listed = new Set(modes);
  return shortModes.flatMap(([mode, short]) => (listed.has(mode) ? [short] : [])).join(',');
}

/** The class of a volume or claim; undefined when it has none. The old annotation wins over the field. */
export const claimClass = ({ metadata, spec }: ApiObject & { spec?: AccessSpec }): string | undefined =>
  metadata.annotations?.[storageClassAnnotation] ?? spec?.storageClassName;

export const classCell = (object: ApiObject & { spec?: AccessSpec }): string => claimClass(object) ?? '';

export const phaseCell = ({ metadata }: ApiObject, phase: string | undefined): string =>
  metadata.deletionTimestamp ? 'Terminating' : (phase ?? '');

export const orUnset = (text: string | undefined): string => text || '<unset>';
