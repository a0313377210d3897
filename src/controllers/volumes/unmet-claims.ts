/**
 * Unmet claims: what the binder does with a claim that no volume fits. It sets the default class if the claim has none;
 * it asks the provisioner of the class for a volume, by an annotation; or it records an event about what the claim
 * waits for.
 */
import type { PersistentVolumeClaim, Pod, StorageClass } from '../../api/generated/types.ts';
import { claimsOf } from '../../api/rules/pod/pod-facts.ts';
import { claimClass } from '../../api/rules/storage/volume-access.ts';
import type { EventRecorder } from '../../client/events.ts';
import { Memo } from '../../memo.ts';
import { defaultStorageClasses } from '../../registry/admission/default-storage-class.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Filter } from '../../registry/view/filter.ts';
import type { SharedContext } from '../shared/controller.ts';
import { isFinished } from '../shared/indexed-pod.ts';
import { mayUseClaims } from '../shared/storage-marks.ts';
import { annotate, changeStorage, claimSubject } from './storage-change.ts';
import {
  externalProvisioner,
  formerStorageProvisioner,
  isDelayed,
  selectedNodeOf,
  storageProvisioner,
} from './storage-classes.ts';
import { classOf } from './volume-matching.ts';

/** The claims of a pod, which is parsed once for all of them: one may name thousands. */
const claimsIn = new Memo<Entry, ReadonlySet<string>>(
  (entry) => new Set(mayUseClaims(entry) ? claimsOf(entry.peek() as Pod) : []),
);

export class UnmetClaims {
  constructor(
    private readonly context: SharedContext,
    private readonly recorder: EventRecorder,
  ) {}

  async attend(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): Promise<void> {
    const wanted = classOf(claim);
    if (claimClass(claim) === undefined) {
      const byDefault = defaultStorageClasses.nameIn(this.context.registry);
      // Setting the class is a change, which adds the claim to the queue again.
      if (byDefault !== undefined) return this.#give(claim, byDefault);
    }
    if (!wanted)
      return this.#normal(
        claim,
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      );
    if (!storageClass)
      return this.#warn(claim, `storageclass.storage.k8s.io ${JSON.stringify(wanted)} not found`);
    if (isDelayed(storageClass) && !selectedNodeOf(claim)) return this.#awaitPod(claim);
    const provisioner = externalProvisioner(storageClass);
    if (!provisioner) return this.#warn(claim, `no volume plugin matched name: ${storageClass.provisioner}`);
    return this.#order(claim, provisioner);
  }

  async #give(claim: PersistentVolumeClaim, className: string): Promise<void> {
    await changeStorage(this.context, 'persistentvolumeclaims', claim, 'main', (object) => {
      if (claimClass(object) === undefined) object.spec!.storageClassName = className;
    });
  }

  #awaitPod(claim: PersistentVolumeClaim): void {
    const pods = this.#unscheduledPods(claim);
    if (pods.length === 0)
      this.#normal(claim, 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    else
      this.#normal(
        claim,
        'WaitForPodScheduled',
        `waiting for ${pods.length === 1 ? 'pod' : 'pods'} ${pods.join(',')} to be scheduled`,
      );
  }

  #unscheduledPods({ metadata }: PersistentVolumeClaim): string[] {
    const { namespace = '', name = '' } = metadata;
    const inNamespace = new Filter(namespace, undefined, undefined, undefined);
    return this.context.registry.view
      .collection('core/pods')
      .select(inNamespace)
      .entries.filter((entry) => {
        if (!claimsIn.of(entry).has(name)) return false;
        const pod = this.context.pods.get(namespace, entry.name);
        return pod !== undefined && !pod.nodeName && !isFinished(pod);
      })
      .map((entry) => entry.name);
  }

  async #order(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    if (claim.metadata.annotations?.[storageProvisioner] !== provisioner)
      await changeStorage(this.context, 'persistentvolumeclaims', claim, 'main', (object) =>
        annotate(object, { [storageProvisioner]: provisioner, [formerStorageProvisioner]: provisioner }),
      );
    this.#normal(
      claim,
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    );
  }

  #normal(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.recorder.normal(claimSubject(claim), reason, message);
  }

  #warn(claim: PersistentVolumeClaim, message: string): void {
    this.recorder.warning(claimSubject(claim), 'ProvisioningFailed', message);
  }
}
