/**
 * Ephemeral volumes: creates a claim for each `ephemeral` volume of a pod, from the template in the pod. The pod owns
 * the claim, so it is deleted with the pod.
 */
import type { PersistentVolumeClaim, Pod, Volume } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { ephemeralClaimOf, ephemeralVolumesOf, isFinished } from '../../api/rules/pod/pod-facts.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { controllerReference, refersTo } from '../shared/ownership.ts';
import { mayUseClaims } from '../shared/storage-marks.ts';
import { WorkQueue } from '../shared/work-queue.ts';

export const ephemeralVolumeController: Controller = {
  name: 'ephemeral-volume',
  writer: 'ephemeral-volume-controller',
  start: (context) => new EphemeralVolumes(context).start(),
};

class EphemeralVolumes {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #podKind: Kind;
  readonly #claimKind: Kind;
  readonly #pods: WorkQueue;

  constructor(private readonly context: SharedContext) {
    this.#registry = context.registry;
    this.#recorder = recorderFor(context, 'ephemeral_volume');
    this.#podKind = this.#registry.kinds.resource('v1', 'pods')!;
    this.#claimKind = this.#registry.kinds.resource('v1', 'persistentvolumeclaims')!;
    this.#pods = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#pod(key),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/pods', (entry) => entry && this.#consider(entry)),
      // A deleted claim is created again while its pod lives; a foreign claim of that name may be gone now.
      observe(this.context, 'core/persistentvolumeclaims', (entry, previous) => {
        if (entry) return;
        const owners = previous!.peek().metadata.ownerReferences ?? [];
        const owner = owners.find((one) => one.controller && refersTo(one, this.#podKind));
        if (owner) this.#pods.add(keyOf(previous!.namespace, owner.name!));
      }),
    ];
    return running(observations, [this.#pods], this.#recorder);
  }

  #consider(entry: Entry): void {
    if (mayUseClaims(entry) && ephemeralVolumesOf(entry.peek() as Pod).length)
      this.#pods.add(keyOf(entry.namespace, entry.name));
  }

  async #pod(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const pod = this.#registry.view.collection('core/pods').get(namespace, name)?.peek() as Pod | undefined;
    if (!pod || pod.metadata.deletionTimestamp || isFinished(pod.status?.phase)) return;
    for (const volume of ephemeralVolumesOf(pod)) await this.#volume(pod, volume);
  }

  async #volume(pod: Pod, volume: Volume): Promise<void> {
    const { namespace = '', name, uid } = pod.metadata;
    const claimName = ephemeralClaimOf(pod, volume);
    const claim = this.#registry.view.collection('core/persistentvolumeclaims').get(namespace, claimName);
    if (!claim) return this.#make(pod, volume, claimName);
    const isOwned = claim
      .peek()
      .metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid);
    if (!isOwned)
      this.#warn(
        pod,
        volume,
        `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${name} (pod is not owner)`,
      );
  }

  async #make(pod: Pod, volume: Volume, name: string): Promise<void> {
    const { metadata: { labels, annotations } = {}, spec } = volume.ephemeral!.volumeClaimTemplate ?? {};
    const claim: PersistentVolumeClaim = structuredClone({
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      metadata: { name, labels, annotations, ownerReferences: [controllerReference(this.#podKind, pod)] },
      spec,
    });
    const target = collectionOf(this.#claimKind, pod.metadata.namespace!);
    try {
      await create(this.context.writing, this.context.request('create'), target, claim as ApiObject);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      this.#warn(pod, volume, (error as Error).message);
      throw error;
    }
  }

  #warn({ metadata }: Pod, { name }: Volume, text: string): void {
    const subject = { apiVersion: 'v1', kind: 'Pod', metadata };
    this.#recorder.warning(subject, 'FailedBinding', `ephemeral volume ${name}: ${text}`);
  }
}
