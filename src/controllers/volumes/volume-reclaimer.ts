/**
 * The volume reclaimer: handles a volume whose claim is gone: it is retained, recycled for the next claim, or deleted.
 * A pod removes the data, because only a node can reach the storage.
 */

import type { ObjectMeta, PersistentVolume, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/rules/pod/pod-facts.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import { collectionOf, type Part, type Target, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { ifUnchanged, type SharedContext } from '../shared/controller.ts';
import { volumeSubject } from './storage-change.ts';
import { boundByController, provisionedBy } from './storage-classes.ts';

const podNamespace = 'kube-system';
const podPrefix = 'recycler-for-';
/** Timeout of that pod. */
const deadlineSeconds = 300;

/**
 * The shell script of that pod. WHERRY_ROOT is the folder in which a container without a mount namespace finds its
 * mounts.
 */
const script = ['cd "$WHERRY_ROOT/scrub" || exit 1', 'rm -rf ..?* .[!.]* ./*', 'test -z "$(ls -A .)"'].join(
  '\n',
);

export class VolumeReclaimer {
  constructor(
    private readonly context: SharedContext,
    private readonly recorder: EventRecorder,
  ) {}

  /** The volume that a pod of this controller recycles. */
  volumeOf({ namespace, name }: Entry): string | undefined {
    return namespace === podNamespace && name.startsWith(podPrefix)
      ? name.slice(podPrefix.length)
      : undefined;
  }

  async reclaim(volume: PersistentVolume): Promise<void> {
    if (volume.status?.phase === 'Failed') return;
    const policy = volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain';
    if (policy === 'Retain') return;
    if (policy !== 'Recycle' && policy !== 'Delete') {
      this.#warn(
        volume,
        'VolumeUnknownReclaimPolicy',
        'Volume has unrecognized PersistentVolumeReclaimPolicy',
      );
      return;
    }
    // The volume was made by an external provisioner, which deletes it.
    const provisioner = volume.metadata.annotations?.[provisionedBy];
    if (policy === 'Delete' && provisioner && !provisioner.startsWith('kubernetes.io/')) return;
    const path = volume.spec?.hostPath?.path;
    const failure = policy === 'Recycle' ? 'VolumeFailedRecycle' : 'VolumeFailedDelete';
    if (!path) return this.#fail(volume, failure, noPlugin(volume, policy));
    if (policy === 'Delete' && !/^\/tmp\/.+/.test(path))
      return this.#fail(
        volume,
        failure,
        `host_path deleter only supports /tmp/.+ but received provided ${path}`,
      );
    const pod = this.#pod(volume);
    if (!pod) return this.#empty(volume, path);
    const phase = pod.status?.phase;
    if (!isFinished(phase)) return;
    await this.#removePod(pod);
    if (phase === 'Failed')
      return this.#fail(
        volume,
        failure,
        `the pod that should have emptied the volume failed: ${pod.status?.message ?? ''}`,
      );
    if (policy === 'Delete') return this.#remove(volume);
    this.recorder.normal(volumeSubject(volume), 'VolumeRecycled', 'Volume recycled');
    await this.#release(volume);
  }

  #pod({ metadata }: PersistentVolume): Pod | undefined {
    const name = `${podPrefix}${metadata.name}`;
    return this.context.registry.view.collection('core/pods').get(podNamespace, name)?.object() as
      | Pod
      | undefined;
  }

  async #empty({ metadata }: PersistentVolume, path: string): Promise<void> {
    const { registry, writing, request } = this.context;
    const pod: Pod = {
      metadata: { name: `${podPrefix}${metadata.name}`, namespace: podNamespace },
      spec: {
        activeDeadlineSeconds: deadlineSeconds,
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        containers: [
          {
            name: 'recycler',
            image: 'host',
            command: ['sh', '-c', script],
            volumeMounts: [{ name: 'volume', mountPath: '/scrub' }],
          },
        ],
        volumes: [{ name: 'volume', hostPath: { path } }],
      },
    };
    const kind = registry.kinds.resource('v1', 'pods')!;
    await ifUnchanged(create(writing, request('create'), collectionOf(kind, podNamespace), pod as ApiObject));
  }

  async #removePod({ metadata }: Pod): Promise<void> {
    const { registry, writing, request } = this.context;
    const { namespace = '', name = '', uid } = metadata;
    const kind = registry.kinds.resource('v1', 'pods')!;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await ifUnchanged(remove(writing, request('delete'), targetOf({ kind, namespace, name }), options));
  }

  /** Makes the volume available for the next claim. */
  async #release({ metadata }: PersistentVolume): Promise<void> {
    const { writing, request } = this.context;
    await ifUnchanged(
      modify(writing, request('update'), this.#target(metadata, 'main'), (current) => {
        const object = current.object() as PersistentVolume;
        delete object.spec!.claimRef;
        delete object.metadata.annotations?.[boundByController];
        return object as ApiObject;
      }),
    );
  }

  async #remove({ metadata }: PersistentVolume): Promise<void> {
    const { writing, request } = this.context;
    const options = { preconditions: { uid: metadata.uid } };
    await ifUnchanged(remove(writing, request('delete'), this.#target(metadata, 'main'), options));
  }

  async #fail(volume: PersistentVolume, reason: string, message: string): Promise<void> {
    const { writing, request } = this.context;
    this.#warn(volume, reason, message);
    await ifUnchanged(
      modify(writing, request('update'), this.#target(volume.metadata, 'status'), (current) => {
        const object = current.object() as PersistentVolume;
        object.status = { phase: 'Failed', message };
        return object as ApiObject;
      }),
    );
  }

  #target({ name = '' }: ObjectMeta, part: Part): Target {
    const kind = this.context.registry.kinds.resource('v1', 'persistentvolumes')!;
    return targetOf({ kind, namespace: '', name }, part);
  }

  #warn(volume: PersistentVolume, reason: string, message: string): void {
    this.recorder.warning(volumeSubject(volume), reason, message);
  }
}

const noPlugin = ({ metadata }: PersistentVolume, policy: string): string =>
  policy === 'Recycle'
    ? 'No recycler plugin found for the volume!'
    : `error getting deleter volume plugin for volume ${JSON.stringify(metadata.name)}: no deletable volume plugin matched`;
