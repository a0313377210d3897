/** Volumes: rules for the volumes of a pod. Each has a name and exactly one source. */
import {
  child,
  duplicate,
  forbidden,
  index,
  notSupported,
  required,
  tooLong,
} from '../../errors/field-error.ts';
import type { EphemeralVolumeSource, PersistentVolumeSpec, Volume } from '../../generated/types.ts';
import {
  isLabel1123,
  isRelativePath,
  isSubdomain1123,
  validateAnnotations,
  validateLabels,
} from '../../values/names.ts';
import { parseQuantity, sign } from '../../values/quantity.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { claimSpecErrors } from '../storage/claim-spec.ts';
import { sourceErrors as persistentSourceErrors } from '../storage/persistent-volume-source.ts';
import { pullPolicies } from './container.ts';
import { downwardErrors, itemsErrors, modeErrors, projectedErrors } from './projection.ts';

const driverBytesMax = 63;

/** In Kubernetes' order: the first one set is the volume's source, and more are an error. */
export const volumeSources = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
] as const satisfies readonly (keyof Volume)[];
type SourceName = (typeof volumeSources)[number];

type Rules = {
  readonly [Name in SourceName]?: (source: NonNullable<Volume[Name]>, path: string) => Findings;
};

/** Source types that are missing here share the rules of persistent volumes (persistent-volume-source.ts). */
const rules: Rules = {
  *emptyDir({ sizeLimit }, path) {
    if (sizeLimit !== undefined && sign(parseQuantity(sizeLimit)) < 0)
      yield forbidden(child(path, 'sizeLimit'), 'SizeLimit field must be a valid resource quantity');
  },
  *gitRepo({ repository, directory }, path) {
    if (!repository) yield required(child(path, 'repository'));
    if (directory) yield* problemsOf(child(path, 'directory'), directory, isRelativePath(directory, true));
  },
  *secret({ secretName, items, defaultMode }, path) {
    if (!secretName) yield required(child(path, 'secretName'));
    yield* modeErrors(defaultMode, child(path, 'defaultMode'));
    yield* itemsErrors(items, child(path, 'items'));
  },
  *persistentVolumeClaim({ claimName }, path) {
    if (!claimName) yield required(child(path, 'claimName'));
  },
  *downwardAPI({ items, defaultMode }, path) {
    yield* modeErrors(defaultMode, child(path, 'defaultMode'));
    yield* downwardErrors(items, path);
  },
  *configMap({ name, items, defaultMode }, path) {
    if (!name) yield required(child(path, 'name'));
    yield* modeErrors(defaultMode, child(path, 'defaultMode'));
    yield* itemsErrors(items, child(path, 'items'));
  },
  projected: projectedErrors,
  *csi({ driver }, path) {
    if (!driver) return yield required(child(path, 'driver'));
    if (Buffer.byteLength(driver) > driverBytesMax) yield tooLong(child(path, 'driver'), driverBytesMax);
    yield* problemsOf(child(path, 'driver'), driver, isSubdomain1123(driver.toLowerCase()));
  },
  ephemeral: ephemeralErrors,
  *image({ pullPolicy }, path) {
    if (pullPolicy && !pullPolicies.includes(pullPolicy))
      yield notSupported(child(path, 'pullPolicy'), pullPolicy, pullPolicies);
  },
};

export const hasSource = (volume: Volume): boolean =>
  volumeSources.some((name) => volume[name] !== undefined);

/** All volumes of a pod. Returns those without errors: only they can be mounted. */
export function* volumesErrors(
  volumes: readonly Volume[] | undefined,
  path: string,
): Findings<Map<string, Volume>> {
  const sound = new Map<string, Volume>();
  for (const [i, volume] of (volumes ?? []).entries()) {
    let flawed = false;
    for (const error of volumeErrors(volume, index(path, i), sound)) {
      flawed = true;
      yield error;
    }
    if (!flawed) sound.set(volume.name!, volume);
  }
  return sound;
}

function* volumeErrors(volume: Volume, path: string, sound: ReadonlyMap<string, Volume>): Findings {
  const [first, ...more] = volumeSources.filter((name) => volume[name] !== undefined);
  if (first) yield* sourceErrors(first, volume, path);
  else yield required(path, 'must specify a volume type');
  for (const name of more) yield forbidden(child(path, name), 'may not specify more than 1 volume type');
  const { name = '' } = volume;
  if (!name) yield required(child(path, 'name'));
  else yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
  if (sound.has(name)) yield duplicate(child(path, 'name'), name);
}

function* sourceErrors(name: SourceName, volume: Volume, path: string): Findings {
  const rule = rules[name] as ((source: unknown, path: string) => Findings) | undefined;
  if (rule) yield* rule(volume[name], child(path, name));
  else yield* persistentSourceErrors({ [name]: volume[name] } as PersistentVolumeSpec, path);
}

/** A generic ephemeral volume: a claim that lives as long as the pod, with name and namespace derived from it. */
function* ephemeralErrors({ volumeClaimTemplate: template }: EphemeralVolumeSource, path: string): Findings {
  const templatePath = child(path, 'volumeClaimTemplate');
  if (!template) return yield required(templatePath);
  const metaPath = child(templatePath, 'metadata');
  const { labels, annotations, ...rest } = template.metadata ?? {};
  yield* validateAnnotations(annotations, child(metaPath, 'annotations'));
  yield* validateLabels(labels, child(metaPath, 'labels'));
  for (const [name, value] of Object.entries(rest))
    if (value !== undefined) yield forbidden(child(metaPath, name), 'cannot be set');
  yield* claimSpecErrors(template.spec ?? {}, child(templatePath, 'spec'));
}

/** A projected token needs a service account. In pods only; a template may get it later. */
export function* tokenAccountErrors(volumes: readonly Volume[] | undefined, path: string): Findings {
  for (const [i, { projected }] of (volumes ?? []).entries())
    for (const [j, source] of (projected?.sources ?? []).entries())
      if (source.serviceAccountToken)
        yield forbidden(
          child(index(child(child(index(path, i), 'projected'), 'sources'), j), 'serviceAccountToken'),
          'must not be specified when serviceAccountName is not set',
        );
}
