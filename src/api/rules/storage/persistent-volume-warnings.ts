/** Warnings about persistent volumes: annotations, labels of nodes and kinds of storage that others have replaced. */
import { child, index } from '../../errors/field-error.ts';
import type { PersistentVolume } from '../../generated/types.ts';
import { nodeTermWarnings } from '../shared/node-labels.ts';
import { volumeDeprecations } from './volume-deprecations.ts';

const deprecatedAnnotations = [
  [
    'volume.beta.kubernetes.io/storage-class',
    'deprecated since v1.8; use "storageClassName" attribute instead',
  ],
  ['volume.beta.kubernetes.io/mount-options', 'deprecated since v1.31; use "mountOptions" attribute instead'],
] as const;

/** Kubernetes is silent about the other deprecated ones here. */
const sources = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'] as const;

export function* volumeWarnings({
  metadata,
  spec = {},
}: PersistentVolume): Generator<string, void, undefined> {
  for (const [name, advice] of deprecatedAnnotations)
    if (metadata.annotations && Object.hasOwn(metadata.annotations, name))
      yield `metadata.annotations[${name}]: ${advice}`;
  if (spec.persistentVolumeReclaimPolicy === 'Recycle')
    yield 'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';
  for (const [i, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
    yield* nodeTermWarnings(term, index('spec.nodeAffinity.required.nodeSelectorTerms', i), false);
  for (const source of sources) {
    const { name, advice } = volumeDeprecations[source];
    if (spec[source]) yield `${child('spec', name)}: ${advice}`;
  }
}
