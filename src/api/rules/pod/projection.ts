/** Projections: files in a volume that are made from secrets, config maps and fields of the pod. */
import { child, forbidden, index, invalid, required } from '../../errors/field-error.ts';
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
} from '../../generated/types.ts';
import { isFileMode, isRelativePath } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { fieldRefErrors, resourceFieldErrors } from './env.ts';

const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;

const fileFields: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

const projections = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
] as const;

export function* modeErrors(mode: number | undefined, path: string): Findings {
  if (mode !== undefined) yield* problemsOf(path, mode, isFileMode(mode));
}

/** Keys of a secret or a config map, and the files they become. */
export function* itemsErrors(items: readonly KeyToPath[] | undefined, path: string): Findings {
  for (const [i, item] of (items ?? []).entries()) {
    const entry = index(path, i);
    if (!item.key) yield required(child(entry, 'key'));
    yield* filePathErrors(item.path, child(entry, 'path'));
    yield* modeErrors(item.mode, child(entry, 'mode'));
  }
}

function* filePathErrors(file: string | undefined, path: string): Findings {
  if (!file) yield required(path);
  else yield* problemsOf(path, file, isRelativePath(file, true));
}

/** Files with fields of the pod. Errors name the volume and not the file, as in Kubernetes. */
export function* downwardErrors(files: readonly DownwardAPIVolumeFile[] | undefined, path: string): Findings {
  for (const file of files ?? []) {
    const { fieldRef, resourceFieldRef } = file;
    yield* filePathErrors(file.path, child(path, 'path'));
    if (fieldRef) yield* fieldRefErrors(fieldRef, child(path, 'fieldRef'), fileFields);
    else if (resourceFieldRef)
      yield* resourceFieldErrors(resourceFieldRef, child(path, 'resourceFieldRef'), true);
    else yield required(path, 'one of fieldRef and resourceFieldRef is required');
    if (fieldRef && resourceFieldRef)
      yield invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    yield* modeErrors(file.mode, child(path, 'mode'));
  }
}

export function* projectedErrors(projected: ProjectedVolumeSource, path: string): Findings {
  yield* modeErrors(projected.defaultMode, child(path, 'defaultMode'));
  const taken = new Set<string>();
  for (const [i, source] of (projected.sources ?? []).entries()) {
    const entry = index(child(path, 'sources'), i);
    for (const name of ['secret', 'configMap'] as const) {
      const object = source[name];
      if (!object) continue;
      if (!object.name) yield required(child(child(entry, name), 'name'));
      yield* itemsErrors(object.items, child(child(entry, name), 'items'));
      for (const item of object.items ?? []) yield* clashErrors(taken, item.path, object.name ?? '', path);
    }
    if (source.downwardAPI) {
      yield* downwardErrors(source.downwardAPI.items, child(entry, 'downwardAPI'));
      for (const file of source.downwardAPI.items ?? [])
        yield* clashErrors(taken, file.path, file.path ?? '', path);
    }
    if (source.serviceAccountToken)
      yield* tokenErrors(source.serviceAccountToken, child(entry, 'serviceAccountToken'));
    if (projections.filter((name) => source[name]).length > 1)
      yield forbidden(entry, 'may not specify more than 1 volume type per source');
  }
}

/** Two sources cannot write the same file. `value` is what Kubernetes quotes of the second. */
function* clashErrors(taken: Set<string>, file: string | undefined, value: string, path: string): Findings {
  if (!file) return;
  if (taken.has(file)) yield invalid(path, value, 'conflicting duplicate paths');
  taken.add(file);
}

function* tokenErrors(token: ServiceAccountTokenProjection, path: string): Findings {
  const seconds = token.expirationSeconds ?? 0;
  const secondsPath = child(path, 'expirationSeconds');
  if (seconds < tokenSecondsMin)
    yield invalid(secondsPath, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > tokenSecondsMax)
    yield invalid(secondsPath, seconds, 'may not specify a duration larger than 2^32 seconds');
  yield* filePathErrors(token.path, child(path, 'path'));
}
