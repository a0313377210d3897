/**
 * Expansion of local-path volumes. A folder has no size of its own, so only the new size is recorded: first that it is
 * being changed, then on the volume, last on the claim.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import type { SharedContext } from '../shared/controller.ts';
import { hostnameOf, isLocalPath } from './local-path-claim.ts';
import type { NodeRecorders } from './node-recorders.ts';
import { changeStorage, claimSubject } from './storage-change.ts';
import { compare, sizeOf, wantsMore, wishOf } from './volume-matching.ts';

export class LocalPathExpansion {
  constructor(
    private readonly context: SharedContext,
    private readonly recorders: NodeRecorders,
  ) {}

  async expand(claim: PersistentVolumeClaim): Promise<void> {
    if (!wantsMore(claim)) return;
    const { registry } = this.context;
    const volume = registry.view
      .collection('core/persistentvolumes')
      .get('', claim.spec!.volumeName!)
      ?.peek() as PersistentVolume | undefined;
    if (!volume || !isLocalPath(volume) || volume.spec?.claimRef?.uid !== claim.metadata.uid) return;
    const storage = wishOf(claim);
    const now = registry.now();
    await changeStorage(this.context, 'persistentvolumeclaims', claim, 'status', ({ status = {} }) => {
      status.allocatedResources = { ...status.allocatedResources, storage };
      status.allocatedResourceStatuses = {
        ...status.allocatedResourceStatuses,
        storage: 'ControllerResizeInProgress',
      };
      const others = (status.conditions ?? []).filter(({ type }) => type !== 'Resizing');
      status.conditions = [...others, { type: 'Resizing', status: 'True', lastTransitionTime: now }];
    });
    await changeStorage(this.context, 'persistentvolumes', volume, 'main', (object) => {
      if (compare(sizeOf(object) ?? '0', storage) < 0)
        object.spec!.capacity = { ...object.spec!.capacity, storage };
    });
    const done = await changeStorage(this.context, 'persistentvolumeclaims', claim, 'status', (object) => {
      const { allocatedResources: _size, allocatedResourceStatuses: _state, ...rest } = object.status ?? {};
      const conditions = rest.conditions?.filter(
        ({ type }) => type !== 'Resizing' && type !== 'FileSystemResizePending',
      );
      object.status = { ...rest, capacity: { ...rest.capacity, storage }, conditions };
    });
    if (done)
      this.recorders
        .of(hostnameOf(volume))
        .normal(claimSubject(claim), 'VolumeResizeSuccessful', 'Resize volume succeeded');
  }
}
