// Proves what volumes and claims warn of, in Kubernetes' words.
import { expect, test } from 'vitest';
import { persistentVolume } from '../../kinds/core/persistent-volume.ts';
import { persistentVolumeClaim } from '../../kinds/core/persistent-volume-claim.ts';
import { made } from '../../kinds/core/pod.fixture.ts';

test('a volume: annotations, policy, labels of nodes, kinds of storage that are gone', () => {
  const body = {
    metadata: {
      name: 'x',
      annotations: {
        'volume.beta.kubernetes.io/storage-class': 'a',
        'volume.beta.kubernetes.io/mount-options': 'b',
      },
    },
    spec: {
      persistentVolumeReclaimPolicy: 'Recycle',
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'Exists' }] }],
        },
      },
      rbd: { monitors: ['a'], image: 'b' },
    },
  };
  expect(persistentVolume.warnings!(made(persistentVolume, body), undefined)).toEqual([
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
    'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
  ]);
});

test('a claim for a part of a byte', () => {
  const body = {
    metadata: { name: 'x' },
    spec: { resources: { requests: { storage: '100m' }, limits: { storage: '1500m' } } },
  };
  expect(persistentVolumeClaim.warnings!(made(persistentVolumeClaim, body), undefined)).toEqual([
    'spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
    'spec.resources.limits[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
});
