/** Claims of the local-path provisioner: why a claim is refused, and the volume that is made for one. */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts';
import { provisionedBy, storageProvisioner } from './storage-classes.ts';

export const localPath = 'wherry.dev/local-path';
/** The finalizer that keeps a volume until its folder is deleted. */
export const localPathFinalizer = 'wherry.dev/local-path';
const hostnameLabel = 'kubernetes.io/hostname';
const accessModes: readonly string[] = ['ReadWriteOnce', 'ReadWriteOncePod'];
/** Parameters that a class may set. */
const parameters: readonly string[] = ['path'];

/** Whether the binder waits for this provisioner to make a volume for the claim. */
export const isOrdered = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[storageProvisioner] === localPath &&
  !spec?.volumeName &&
  !metadata.deletionTimestamp;

export const isLocalPath = ({ metadata }: PersistentVolume): boolean =>
  metadata.annotations?.[provisionedBy] === localPath;

export const volumeNameFor = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`;

/** Why no node can make a volume for the claim; undefined when one can. */
export function refusalOf(
  { spec = {} }: PersistentVolumeClaim,
  storageClass: StorageClass,
): string | undefined {
  const unknown = Object.keys(storageClass.parameters ?? {}).find((name) => !parameters.includes(name));
  if (unknown !== undefined) return `unknown parameter ${JSON.stringify(unknown)}`;
  if (spec.volumeMode === 'Block') return 'block volumes are not supported';
  const mode = spec.accessModes?.find((one) => !accessModes.includes(one));
  if (mode !== undefined)
    return `access mode ${mode} is not supported, only ReadWriteOnce and ReadWriteOncePod`;
  if (spec.selector) return 'claim.Spec.Selector is not supported';
  if (spec.dataSource || spec.dataSourceRef) return 'data sources are not supported';
  return undefined;
}

export function volumeFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: Node,
  path: string,
): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const policy = storageClass.reclaimPolicy ?? 'Delete';
  const hostname = node.metadata.labels?.[hostnameLabel] ?? node.metadata.name!;
  return {
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: {
      name: volumeNameFor(claim),
      annotations: { [provisionedBy]: localPath },
      ...(policy === 'Delete' ? { finalizers: [localPathFinalizer] } : {}),
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? '0' },
      accessModes: claim.spec?.accessModes,
      persistentVolumeReclaimPolicy: policy,
      storageClassName: storageClass.metadata.name,
      mountOptions: storageClass.mountOptions,
      volumeMode: 'Filesystem',
      hostPath: { path, type: 'DirectoryOrCreate' },
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: hostnameLabel, operator: 'In', values: [hostname] }] },
          ],
        },
      },
    },
  };
}

/** The host name of the node on which a volume of this provisioner is. */
export const hostnameOf = ({ spec }: PersistentVolume): string | undefined =>
  spec?.nodeAffinity?.required?.nodeSelectorTerms?.[0]?.matchExpressions?.find(
    ({ key }) => key === hostnameLabel,
  )?.values?.[0];

export const isOnHost = ({ metadata }: Node, hostname: string | undefined): boolean =>
  hostname !== undefined && (metadata.labels?.[hostnameLabel] ?? metadata.name) === hostname;

export const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
