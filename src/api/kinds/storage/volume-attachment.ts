/** VolumeAttachment: asks a storage driver to attach a volume to a node. */
import { child, type FieldError, forbidden, invalid, required, tooLong } from '../../errors/field-error.ts';
import type {
  PersistentVolumeSpec,
  VolumeAttachment,
  VolumeAttachmentSpec,
  VolumeError,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { takeStoredMetadata } from '../../kind/meta.ts';
import { statusOnly } from '../../kind/reset-fields.ts';
import { status } from '../../kind/subresource.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { driverNameErrors } from '../../rules/device/driver-name.ts';
import { changedFields } from '../../rules/shared/change.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, outside, problemsOf } from '../../rules/shared/findings.ts';
import { defaultSource, sourceErrors } from '../../rules/storage/persistent-volume-source.ts';
import { accessModeErrors } from '../../rules/storage/volume-access.ts';
import { isSubdomain1123 } from '../../values/names.ts';

const metadataBytesMax = 262_144;
const messageBytesMax = 1024;
const errorCodeMax = 2 ** 31 - 1;

function* specErrors({ attacher, source = {}, nodeName = '' }: VolumeAttachmentSpec): Findings {
  const { inlineVolumeSpec, persistentVolumeName: volume } = source;
  const path = 'spec.source';
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  yield* driverNameErrors(attacher, 'spec.attacher');
  if (!inlineVolumeSpec && volume === undefined) yield required(path, one);
  else if (inlineVolumeSpec && volume !== undefined) yield forbidden(path, one);
  else if (volume === '')
    yield required(child(path, 'persistentVolumeName'), 'must specify non empty persistentVolumeName');
  else if (inlineVolumeSpec) yield* inlineErrors(inlineVolumeSpec, child(path, 'inlineVolumeSpec'));
  yield* problemsOf('spec.nodeName', nodeName, isSubdomain1123(nodeName));
  if (volume !== undefined)
    yield* problemsOf(child(path, 'persistentVolumeName'), volume, isSubdomain1123(volume));
}

/** The spec of a volume that is no object of its own: without what only an object can have. */
function* inlineErrors(spec: PersistentVolumeSpec, path: string): Findings {
  const inline = 'may not be specified in the context of inline volumes';
  if (spec.claimRef) yield forbidden(child(path, 'claimRef'), inline);
  if (spec.capacity) yield forbidden(child(path, 'capacity'), inline);
  if (!spec.csi) yield required(child(path, 'csi'), 'has to be specified in the context of inline volumes');
  if (!spec.accessModes?.length) yield required(child(path, 'accessModes'));
  yield* accessModeErrors(spec.accessModes, child(path, 'accessModes'));
  if (spec.persistentVolumeReclaimPolicy)
    yield forbidden(child(path, 'persistentVolumeReclaimPolicy'), inline);
  if (spec.nodeAffinity) yield forbidden(child(path, 'nodeAffinity'), inline);
  yield* sourceErrors(spec, path);
  if (spec.storageClassName) yield forbidden(child(path, 'storageClassName'), inline);
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem')
    yield forbidden(child(path, 'volumeMode'), 'may not specify volumeMode in the context of inline volumes');
}

function* statusErrors({ status = {} }: VolumeAttachment): Findings {
  const { attachmentMetadata = {}, attachError, detachError } = status;
  let bytes = 0;
  for (const [key, value] of Object.entries(attachmentMetadata))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (bytes > metadataBytesMax) yield tooLong('status.attachmentMetadata', metadataBytesMax);
  yield* volumeErrorErrors(attachError, 'status.attachError');
  yield* volumeErrorErrors(detachError, 'status.detachError');
}

function* volumeErrorErrors(error: VolumeError | undefined, path: string): Findings {
  // Kubernetes names another bound than the one that it checks.
  if (Buffer.byteLength(error?.message ?? '') > messageBytesMax)
    yield tooLong(child(path, 'message'), metadataBytesMax);
  if (error?.errorCode !== undefined)
    yield* outside(child(path, 'errorCode'), error.errorCode, 0, errorCodeMax);
}

function changeErrors(attachment: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  const model = modelOf('VolumeAttachmentSpec', 'storage-v1');
  const { spec = {} } = attachment;
  if (changedFields(model, spec, old.spec ?? {}).length === 0) return [];
  return [invalid('spec', innerForm(model, spec), 'field is immutable')];
}

export const volumeAttachment = defineKind<VolumeAttachment>({
  kind: 'VolumeAttachment',
  resource: 'volumeattachments',
  singular: 'volumeattachment',
  group: 'storage.k8s.io',
  version: 'v1',
  table: 'storage-v1',
  namespaced: false,
  versionRequired: true,
  deletion: { returnsObject: true },
  subresources: [
    status<VolumeAttachment>({
      prepare: takeStoredMetadata,
      resets: statusOnly,
      validate: (attachment) => collect(statusErrors(attachment)),
    }),
  ],

  defaults({ spec }) {
    if (spec?.source?.inlineVolumeSpec) defaultSource(spec.source.inlineVolumeSpec);
  },

  validate: ({ spec = {} }) => collect(specErrors(spec)),
  validateUpdate: changeErrors,

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
