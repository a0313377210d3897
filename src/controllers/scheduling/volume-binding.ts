/**
 * Volume binding: carries out what the scheduler has planned for the claims of a pod, and waits until they are bound.
 * The scheduler reserves a volume for a claim, or names the node where a volume has to be made; the volume binder and
 * the provisioner do the rest. A provisioner that cannot make the volume removes the name of the node, and the pod is
 * scheduled anew.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import type { SharedContext } from '../shared/controller.ts';
import { annotate, changeStorage } from '../volumes/storage-change.ts';
import { boundByController, selectedNode, selectedNodeOf } from '../volumes/storage-classes.ts';
import { refersTo } from '../volumes/volume-matching.ts';
import { matchesNodeSelector } from './node-affinity.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';
import {
  isBoundClaim,
  requiredNodes,
  type VolumePlan,
  type VolumeReach,
  volumeReach,
} from './volume-reach.ts';

/** How long claims may take to be bound, as in Kubernetes. */
const bindingMaxMs = 600_000;

/** The claims cannot be bound as planned; the message is for the pod's event. */
export class VolumeBindingError extends Error {
  override readonly name = 'VolumeBindingError';
}

/** A pod that waits. Only the claim that has changed is looked at: a pod may have tens of thousands. */
interface Waiting {
  readonly namespace: string;
  /** Names of claims that are not bound yet. */
  readonly pending: ReadonlySet<string>;
  readonly check: (claim: string) => void;
  readonly end: (error: Error) => void;
}

export class VolumeBinding {
  readonly #registry: Registry;
  readonly #volumes = new Map<string, string>();
  readonly #nodes = new Map<string, string>();
  /** Waiting pods by uid. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(private readonly context: SharedContext) {
    this.#registry = context.registry;
  }

  reach(pod: PodFacts): VolumeReach {
    return volumeReach(this.#registry.view, pod, { volumes: this.#volumes, nodes: this.#nodes });
  }

  /** Carries out a plan. Throws `VolumeBindingError`. Other pods see the plan from the call on. */
  async bind(pod: PodFacts, node: NodeFacts, plan: VolumePlan): Promise<void> {
    const { reserved, ordered } = plan;
    for (const { claim, volume } of reserved) this.#volumes.set(volume.metadata.name!, claim.metadata.uid!);
    for (const { metadata } of ordered) this.#nodes.set(metadata.uid!, node.name);
    try {
      await this.#write(node.name, plan);
      await this.#bound(pod, node, plan);
    } finally {
      for (const { volume } of reserved) this.#volumes.delete(volume.metadata.name!);
      for (const { metadata } of ordered) this.#nodes.delete(metadata.uid!);
    }
  }

  /** Called when a claim has changed: pods that wait for it may go on. */
  claimChanged({ namespace, name }: Entry): void {
    for (const waiting of this.#waiting.values())
      if (waiting.namespace === namespace && waiting.pending.has(name)) waiting.check(name);
  }

  /** Called when a volume has changed. */
  volumeChanged(entry: Entry): void {
    const reference = (entry.peek() as PersistentVolume).spec?.claimRef;
    if (this.#waiting.size === 0 || !reference) return;
    const { namespace = '', name = '' } = reference;
    const claim = this.#registry.view.collection('core/persistentvolumeclaims').get(namespace, name);
    if (claim) this.claimChanged(claim);
  }

  /** Called when the pod is gone, or has a node. */
  forget(uid: string): void {
    this.#waiting.get(uid)?.end(new VolumeBindingError('the pod is gone'));
  }

  close(): void {
    for (const { end } of this.#waiting.values()) end(new VolumeBindingError('the scheduler is closing'));
  }

  async #write(nodeName: string, { reserved, ordered }: VolumePlan): Promise<void> {
    const { context } = this;
    for (const { claim, volume } of reserved) {
      const { namespace, name, uid, resourceVersion } = claim.metadata;
      let lost = false;
      const done = await changeStorage(context, 'persistentvolumes', volume, 'main', (object) => {
        lost = Boolean(object.spec?.claimRef) && !refersTo(object, claim);
        if (lost || object.spec!.claimRef?.uid) return;
        const kind = 'PersistentVolumeClaim';
        // A volume that an administrator has reserved is not marked as bound by the controller.
        if (!object.spec!.claimRef) annotate(object, { [boundByController]: 'yes' });
        object.spec!.claimRef = { kind, namespace, name, uid, apiVersion: 'v1', resourceVersion };
      });
      if (!done || lost) throw new VolumeBindingError(`volume ${volume.metadata.name} is no longer free`);
    }
    for (const claim of ordered) {
      const done = await changeStorage(context, 'persistentvolumeclaims', claim, 'main', (object) =>
        annotate(object, { [selectedNode]: nodeName }),
      );
      if (!done) throw new VolumeBindingError(`claim ${claim.metadata.name} is gone`);
    }
  }

  /** Resolves when all claims of the plan are bound. */
  #bound(pod: PodFacts, node: NodeFacts, plan: VolumePlan): Promise<void> {
    const { timers } = this.#registry;
    const claims = new Map<string, { readonly claim: PersistentVolumeClaim; readonly isOrdered: boolean }>([
      ...plan.reserved.map(({ claim }) => [claim.metadata.name!, { claim, isOrdered: false }] as const),
      ...plan.ordered.map((claim) => [claim.metadata.name!, { claim, isOrdered: true }] as const),
    ]);
    const pending = new Set(claims.keys());
    return new Promise((resolve, reject) => {
      const end = (error?: Error): void => {
        timers.clear(timer);
        this.#waiting.delete(pod.uid);
        if (error) reject(error);
        else resolve();
      };
      const check = (name: string): void => {
        const { claim, isOrdered } = claims.get(name)!;
        try {
          if (this.#isBound(claim, node, isOrdered)) pending.delete(name);
        } catch (error) {
          return end(error as Error);
        }
        if (pending.size === 0) end();
      };
      const timer = timers.set(() => end(new VolumeBindingError('context deadline exceeded')), bindingMaxMs);
      timer.unref();
      this.#waiting.set(pod.uid, { namespace: pod.namespace, pending, check, end });
      for (const name of claims.keys()) if (this.#waiting.has(pod.uid)) check(name);
    });
  }

  #isBound({ metadata }: PersistentVolumeClaim, node: NodeFacts, isOrdered: boolean): boolean {
    const { view } = this.#registry;
    const { namespace = '', name = '', uid } = metadata;
    const claim = view.collection('core/persistentvolumeclaims').get(namespace, name)?.peek() as
      | PersistentVolumeClaim
      | undefined;
    if (claim?.metadata.uid !== uid)
      throw new VolumeBindingError(`persistentvolumeclaim ${JSON.stringify(name)} not found`);
    if (!isBoundClaim(claim!)) {
      if (isOrdered && selectedNodeOf(claim!) !== node.name)
        throw new VolumeBindingError(`provisioning failed for PVC ${JSON.stringify(name)}`);
      return false;
    }
    const volumeName = claim!.spec!.volumeName!;
    const volume = view.collection('core/persistentvolumes').get('', volumeName)?.peek() as
      | PersistentVolume
      | undefined;
    const required = volume && requiredNodes(volume);
    if (required && !matchesNodeSelector(required, node))
      throw new VolumeBindingError(
        `pv ${JSON.stringify(volumeName)} node affinity doesn't match node ${JSON.stringify(node.name)}`,
      );
    return volume !== undefined;
  }
}
