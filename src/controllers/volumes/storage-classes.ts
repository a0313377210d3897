/** Storage classes, for the storage controllers and the scheduler: how volumes of a class are bound and provisioned. */
import type { PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import type { View } from '../../registry/view/view.ts';

export const classes = 'storage.k8s.io/storageclasses';
/** The node that the scheduler has chosen for the volume of a claim. */
export const selectedNode = 'volume.kubernetes.io/selected-node';
/** The provisioner of a claim's volume; the second is the annotation's older name, which is still written. */
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner';
export const formerStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner';
/** The provisioner that made a volume. */
export const provisionedBy = 'pv.kubernetes.io/provisioned-by';
/** Volumes of classes with this provisioner are created by hand. */
export const noProvisioner = 'kubernetes.io/no-provisioner';
export const boundByController = 'pv.kubernetes.io/bound-by-controller';

/** Provisioners that were once part of Kubernetes, and the CSI drivers that replaced them. */
const movedToCsi = new Map([
  ['kubernetes.io/aws-ebs', 'ebs.csi.aws.com'],
  ['kubernetes.io/azure-disk', 'disk.csi.azure.com'],
  ['kubernetes.io/azure-file', 'file.csi.azure.com'],
  ['kubernetes.io/cinder', 'cinder.csi.openstack.org'],
  ['kubernetes.io/gce-pd', 'pd.csi.storage.gke.io'],
  ['kubernetes.io/portworx-volume', 'pxd.portworx.com'],
  ['kubernetes.io/vsphere-volume', 'csi.vsphere.vmware.com'],
]);

export function classNamed(view: View, name: string): StorageClass | undefined {
  if (!name) return undefined;
  return view.collection(classes).get('', name)?.peek() as StorageClass | undefined;
}

/** Whether volumes of the class are bound or provisioned only when a pod that uses them has a node. */
export const isDelayed = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.volumeBindingMode === 'WaitForFirstConsumer';

/** The external provisioner of a class; undefined for names reserved for Kubernetes' own provisioners. */
export function externalProvisioner({ provisioner = '' }: StorageClass): string | undefined {
  const name = movedToCsi.get(provisioner) ?? provisioner;
  return name.startsWith('kubernetes.io/') ? undefined : name;
}

export const selectedNodeOf = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[selectedNode] || undefined;

/** Whether volumes of the class may be provisioned for nodes with these labels. Without topologies: anywhere. */
export function allowsNode(
  { allowedTopologies = [] }: StorageClass,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(
      ({ key = '', values }) => Object.hasOwn(labels, key) && (values ?? []).includes(labels[key]!),
    ),
  );
}
