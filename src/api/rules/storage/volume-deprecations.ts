/** Kinds of volumes that Kubernetes gave up: the field's name in warnings, and what they say. */

interface Deprecation {
  readonly name: string;
  readonly advice: string;
}

const gone = (name: string, deprecated: string, removed: string): Deprecation => ({
  name,
  advice: `deprecated in ${deprecated}, non-functional in ${removed}+`,
});

export const volumeDeprecations = {
  photonPersistentDisk: gone('photonPersistentDisk', 'v1.11', 'v1.16'),
  gitRepo: { name: 'gitRepo', advice: 'deprecated in v1.11, and disabled by default in v1.33+' },
  scaleIO: gone('scaleIO', 'v1.16', 'v1.22'),
  flocker: gone('flocker', 'v1.22', 'v1.25'),
  storageos: gone('storageOS', 'v1.22', 'v1.25'),
  quobyte: gone('quobyte', 'v1.22', 'v1.25'),
  glusterfs: gone('glusterfs', 'v1.25', 'v1.26'),
  cephfs: gone('cephfs', 'v1.28', 'v1.31'),
  rbd: gone('rbd', 'v1.28', 'v1.31'),
} as const;
