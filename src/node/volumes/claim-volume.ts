/** Claimed volumes: the folder of this node behind a bound claim. */
import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { StatusError } from '../../api/errors/errors.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/generated/types.ts';
import { ephemeralClaimOf } from '../../api/rules/pod/pod-facts.ts';
import type { Client } from '../../client/client.ts';
import { claims, volumes } from '../../client/resources.ts';
import { prepareHostPath } from './host-path.ts';

export interface ClaimedVolume {
  readonly path: string;
  readonly readOnly: boolean;
}

export async function prepareClaim(client: Client, pod: Pod, volume: Volume): Promise<ClaimedVolume> {
  const namespace = pod.metadata.namespace ?? '';
  const name = volume.persistentVolumeClaim?.claimName ?? ephemeralClaimOf(pod, volume);
  const about = `error processing PVC ${namespace}/${name}`;
  const claim = await client.get(claims, namespace, name).catch((error: unknown) => {
    throw isNotFound(error) ? new Error(`persistentvolumeclaim ${JSON.stringify(name)} not found`) : error;
  });
  checkClaim(claim, about, volume.ephemeral ? pod.metadata.uid : undefined);
  const volumeName = claim.spec!.volumeName!;
  const behind = await client.get(volumes, undefined, volumeName).catch((error: unknown) => {
    throw isNotFound(error) ? new Error(`persistentvolume ${JSON.stringify(volumeName)} not found`) : error;
  });
  if (behind.spec?.claimRef?.uid !== claim.metadata.uid)
    throw new Error(`${about}: PV ${volumeName} is bound to another claim`);
  return { path: await folderOf(behind), readOnly: volume.persistentVolumeClaim?.readOnly ?? false };
}

const isNotFound = (error: unknown): boolean => error instanceof StatusError && error.code === 404;

function checkClaim({ metadata, spec, status }: PersistentVolumeClaim, about: string, pod?: string): void {
  if (pod && !metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === pod))
    throw new Error(`${about}: PVC was not created for the pod`);
  if (metadata.deletionTimestamp) throw new Error(`${about}: PVC is being deleted`);
  if (status?.phase !== 'Bound' || !spec?.volumeName) throw new Error(`${about}: PVC is not bound`);
  if (spec.volumeMode === 'Block') throw new Error('block volumes are not supported by this node');
}

async function folderOf({ metadata, spec }: PersistentVolume): Promise<string> {
  if (spec?.hostPath) return prepareHostPath(spec.hostPath);
  if (!spec?.local) throw new Error(`the type of PV ${metadata.name} is not supported by this node`);
  const path = spec.local.path ?? '';
  const stats = isAbsolute(path) ? await stat(path).catch(() => undefined) : undefined;
  if (!stats) throw new Error(`path ${JSON.stringify(path)} does not exist`);
  if (!stats.isDirectory()) throw new Error(`path ${JSON.stringify(path)} is not a directory`);
  return path;
}
