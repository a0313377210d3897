/** Warnings about volumes: kinds of them that are gone or will be, and files with colliding paths. */
import { child, index } from '../../errors/field-error.ts';
import type { Volume, VolumeProjection } from '../../generated/types.ts';
import { goQuoted } from '../../model/go-format.ts';
import { claimSpecWarnings } from '../storage/claim-warnings.ts';
import { volumeDeprecations } from '../storage/volume-deprecations.ts';
import { type FilePath, PathOverlaps } from './path-overlaps.ts';

type Warnings = Generator<string, void, undefined>;

/** In the order in which Kubernetes looks at them: claims of ephemeral volumes come between the two lists. */
const sources = [
  'photonPersistentDisk',
  'gitRepo',
  'scaleIO',
  'flocker',
  'storageos',
  'quobyte',
  'glusterfs',
] as const;
const laterSources = ['cephfs', 'rbd'] as const;

export function* volumeWarnings(volumes: readonly Volume[], path: string): Warnings {
  for (const [i, volume] of volumes.entries()) {
    const entry = index(path, i);
    yield* sourceWarnings(volume, sources, entry);
    if (volume.ephemeral)
      yield* claimSpecWarnings(
        volume.ephemeral.volumeClaimTemplate?.spec,
        child(entry, 'ephemeral.volumeClaimTemplate.spec'),
      );
    yield* sourceWarnings(volume, laterSources, entry);
  }
  for (const volume of volumes) yield* overlapWarnings(volume);
}

function* sourceWarnings(
  volume: Volume,
  fields: readonly (keyof typeof volumeDeprecations)[],
  path: string,
): Warnings {
  for (const field of fields) {
    if (!volume[field]) continue;
    const { name, advice } = volumeDeprecations[field];
    yield `${child(path, name)}: ${advice}`;
  }
}

function* overlapWarnings({ name = '', configMap, secret, downwardAPI, projected }: Volume): Warnings {
  if (configMap?.items)
    yield* overlapsIn(name, `ConfigMap ${goQuoted(configMap.name ?? '')}`, configMap.items);
  if (secret?.items) yield* overlapsIn(name, `Secret ${goQuoted(secret.secretName ?? '')}`, secret.items);
  if (downwardAPI?.items) yield* overlapsIn(name, 'DownwardAPI', downwardAPI.items);
  if (!projected) return;
  const overlaps = new PathOverlaps();
  for (const source of projected.sources ?? []) {
    if (Object.keys(source).length === 0)
      yield `volume ${goQuoted(name)} (Projected) has no sources provided`;
    for (const file of filesOf(source))
      for (const overlap of overlaps.add(file)) yield overlapText(name, 'Projected', overlap);
  }
}

function* overlapsIn(volume: string, what: string, items: readonly { readonly path?: string }[]): Warnings {
  const overlaps = new PathOverlaps();
  for (const { path = '' } of items)
    for (const overlap of overlaps.add({ path, source: undefined })) yield overlapText(volume, what, overlap);
}

const overlapText = (volume: string, what: string, overlap: string): string =>
  `volume ${goQuoted(volume)} (${what}): overlapping paths: ${overlap}`;

function filesOf(source: VolumeProjection): FilePath[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const all = (items: readonly { readonly path?: string }[], from: () => string): FilePath[] =>
    items.map(({ path = '' }) => ({ path, source: from }));
  if (configMap?.items) return all(configMap.items, () => `ConfigMap ${goQuoted(configMap.name ?? '')}`);
  if (secret?.items) return all(secret.items, () => `Secret ${goQuoted(secret.name ?? '')}`);
  if (downwardAPI?.items) return all(downwardAPI.items, () => 'DownwardAPI');
  if (serviceAccountToken) return all([serviceAccountToken], () => 'ServiceAccountToken');
  if (clusterTrustBundle) {
    const { name, signerName = '' } = clusterTrustBundle;
    return all([clusterTrustBundle], () => `ClusterTrustBundle ${goQuoted(name ?? signerName)}`);
  }
  if (!podCertificate) return [];
  const { certificateChainPath = '', keyPath = '', credentialBundlePath = '' } = podCertificate;
  return [
    { path: certificateChainPath, source: () => 'PodCertificate chain' },
    { path: keyPath, source: () => 'PodCertificate key' },
    { path: credentialBundlePath, source: () => 'PodCertificate credential bundle' },
  ];
}
