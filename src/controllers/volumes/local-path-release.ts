/**
 * Release of local-path volumes: when the claim is gone and the policy is Delete, the folder is removed, then the
 * object. A finalizer keeps the object, also when a user deletes it, until the folder is gone.
 */
import type { Node, PersistentVolume } from '../../api/generated/types.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { ifUnchanged, type NodeVolumes, type SharedContext } from '../shared/controller.ts';
import { hostnameOf, isLocalPath, localPathFinalizer } from './local-path-claim.ts';
import type { NodeRecorders } from './node-recorders.ts';
import { changeStorage, volumeSubject } from './storage-change.ts';

type FindNode = (hostname: string | undefined) => Node | undefined;

export class LocalPathRelease {
  constructor(
    private readonly context: SharedContext,
    private readonly nodes: NodeVolumes,
    private readonly recorders: NodeRecorders,
  ) {}

  /** Removes the folder and the object; false when the folder cannot be removed now. */
  async release(volume: PersistentVolume, findNode: FindNode): Promise<boolean> {
    const isMarked = volume.metadata.deletionTimestamp !== undefined;
    const isFree = ['Released', 'Failed'].includes(volume.status?.phase ?? '');
    if (!isLocalPath(volume) || !(isFree || (isMarked && !this.#isClaimed(volume)))) return true;
    if (volume.spec?.persistentVolumeReclaimPolicy !== 'Delete') {
      // The folder is retained: it belongs to the user from now on.
      if (isMarked) await this.#letGo(volume);
      return true;
    }
    const node = findNode(hostnameOf(volume));
    // The node and its disk are gone, and a user deletes the object.
    if (!node && isMarked) {
      await this.#letGo(volume);
      return true;
    }
    try {
      if (!node)
        throw new Error(`the node ${JSON.stringify(hostnameOf(volume) ?? '')} of the volume does not exist`);
      await this.nodes.remove(node, volume.metadata.name!, volume.spec.hostPath?.path ?? '');
    } catch (error) {
      await this.#fail(volume, node, (error as Error).message);
      return false;
    }
    await this.#removeObject(volume);
    await this.#letGo(volume);
    return true;
  }

  /** Whether the claim of a volume exists. */
  #isClaimed({ spec }: PersistentVolume): boolean {
    const { namespace = '', name = '', uid } = spec?.claimRef ?? {};
    const claim = this.context.registry.view.collection('core/persistentvolumeclaims').get(namespace, name);
    return claim !== undefined && claim.peek().metadata.uid === uid;
  }

  async #removeObject({ metadata }: PersistentVolume): Promise<void> {
    const { registry, writing, request } = this.context;
    const { name = '', uid, deletionTimestamp } = metadata;
    if (deletionTimestamp) return;
    const kind = registry.kinds.resource('v1', 'persistentvolumes')!;
    const target = targetOf({ kind, namespace: '', name });
    await ifUnchanged(remove(writing, request('delete'), target, { preconditions: { uid } }));
  }

  async #letGo(volume: PersistentVolume): Promise<void> {
    if (!volume.metadata.finalizers?.includes(localPathFinalizer)) return;
    await changeStorage(this.context, 'persistentvolumes', volume, 'main', ({ metadata }) => {
      metadata.finalizers = metadata.finalizers?.filter((one) => one !== localPathFinalizer);
    });
  }

  async #fail(volume: PersistentVolume, node: Node | undefined, message: string): Promise<void> {
    this.recorders.of(node?.metadata.name).warning(volumeSubject(volume), 'VolumeFailedDelete', message);
    await changeStorage(this.context, 'persistentvolumes', volume, 'status', (object) => {
      object.status = { ...object.status, phase: 'Failed', message };
    });
  }
}
