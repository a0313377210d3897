/** Defaults of volume sources. */
import type { DownwardAPIVolumeFile, ProjectedVolumeSource, Volume } from '../../generated/types.ts';
import { defaultClaimSpec } from '../storage/claim-spec.ts';
import { pullPolicyOf } from './container.ts';
import { defaultFieldRef } from './env.ts';
import { hasSource } from './volume.ts';

const fileMode = 0o644;
const tokenSeconds = 3600;

export function defaultVolume(volume: Volume): void {
  if (!hasSource(volume)) volume.emptyDir = {};
  if (volume.hostPath) volume.hostPath.type ??= '';
  for (const name of ['secret', 'configMap', 'downwardAPI', 'projected'] as const) {
    const source = volume[name];
    if (source) source.defaultMode ??= fileMode;
  }
  defaultFiles(volume.downwardAPI?.items);
  if (volume.projected) defaultProjected(volume.projected);
  if (volume.image) volume.image.pullPolicy ||= pullPolicyOf(volume.image.reference);
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim) defaultClaimSpec((claim.spec ??= {}));
  defaultDisk(volume);
}

function defaultFiles(files: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const file of files ?? []) defaultFieldRef(file.fieldRef);
}

function defaultProjected(projected: ProjectedVolumeSource): void {
  for (const source of projected.sources ?? []) {
    defaultFiles(source.downwardAPI?.items);
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= tokenSeconds;
  }
}

/** Sources on a network or in a cloud. */
function defaultDisk({ iscsi, rbd, azureDisk, scaleIO }: Volume): void {
  if (iscsi) iscsi.iscsiInterface ||= 'default';
  if (rbd) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= 'Shared';
  }
  if (scaleIO) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}
