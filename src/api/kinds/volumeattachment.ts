/** VolumeAttachment: asks a storage driver to attach a volume to a node. */
import type { VolumeAttachment } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { takeStoredMetadata } from '../meta.ts';
import { ageCell, ageColumn, nameColumn } from '../rules/columns.ts';

export const volumeAttachment = defineKind<VolumeAttachment>({
  kind: 'VolumeAttachment',
  resource: 'volumeattachments',
  singular: 'volumeattachment',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deleteReturnsObject: true,
  subresources: [statusSubresource],
  prepareStatusUpdate: takeStoredMetadata,

  columns: [
    nameColumn,
    { name: 'Attacher', format: 'name', description: 'The driver that attaches the volume.' },
    { name: 'PV', description: 'The volume.' },
    { name: 'Node', description: 'The node that gets it.' },
    { name: 'Attached', type: 'boolean', description: 'Whether the volume is attached.' },
    ageColumn,
  ],
  cells: (attachment) => {
    const { spec, status } = attachment;
    return [
      attachment.metadata.name,
      spec?.attacher ?? '',
      spec?.source?.persistentVolumeName ?? '',
      spec?.nodeName ?? '',
      status?.attached ?? false,
      ageCell(attachment),
    ];
  },
});
