/** Volumes: the storage a pod brings along. Each has a name and exactly one source. */
import { child, duplicate, forbidden, index, notSupported, required, tooLong } from '../fielderror.ts';
import type { EphemeralVolumeSource, PersistentVolumeSpec, Volume } from '../generated/types.ts';
import { claimSpecErrors } from '../kinds/persistentvolumeclaim.ts';
import {
  isLabel1123,
  isRelativePath,
  isSubdomain1123,
  validateAnnotations,
  validateLabels,
} from '../names.ts';
import { parseQuantity, sign } from '../quantity.ts';
import { pullPolicies } from './container.ts';
import { type Findings, problemsOf } from './findings.ts';
import { sourceErrors as persistentSourceErrors } from './persistentvolumesource.ts';
import { downwardErrors, itemsErrors, modeErrors, projectedErrors } from './projection.ts';

const driverBytesMax = 63;

/** In the order in which Kubernetes looks for them: the first found is the volume's, the others are too many. */
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

/** Sources that are not here can be persistent volumes, too, and follow the same rules there. */
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

/** A claim that lives as long as the pod. It gets its name and place from the pod. */
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

/** A token says which account a pod runs as, so there must be one. For pods; a template may get it later. */
export function* tokenAccountErrors(volumes: readonly Volume[] | undefined, path: string): Findings {
  for (const [i, { projected }] of (volumes ?? []).entries())
    for (const [j, source] of (projected?.sources ?? []).entries())
      if (source.serviceAccountToken)
        yield forbidden(
          child(index(child(child(index(path, i), 'projected'), 'sources'), j), 'serviceAccountToken'),
          'must not be specified when serviceAccountName is not set',
        );
}
