/** The storage group: classes of volumes, drivers and what they can do. */
import type { Group } from '../../kind/group.ts';
import { csiDriver } from './csi-driver.ts';
import { csiNode } from './csi-node.ts';
import { csiStorageCapacity } from './csi-storage-capacity.ts';
import { storageClass } from './storage-class.ts';
import { volumeAttachment } from './volume-attachment.ts';
import { volumeAttributesClass } from './volume-attributes-class.ts';

export const group: Group = {
  name: 'storage.k8s.io',
  priority: 16_800,
  versions: { v1: {} },
  kinds: [csiDriver, csiNode, csiStorageCapacity, storageClass, volumeAttachment, volumeAttributesClass],
};
