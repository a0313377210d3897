/**
 * The volume binder: binds claims and volumes, in single writes so that it can resume after an interruption: the
 * volume refers to its claim, the volume is Bound, the claim refers to its volume, the claim is Bound.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { claimsOf } from '../../api/rules/pod/pod-facts.ts';
import type { EventRecorder } from '../../client/events.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { mayUseClaims } from '../shared/storage-marks.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { ClaimsAndVolumes } from './claims-and-volumes.ts';
import { annotate, changeStorage, claimSubject } from './storage-change.ts';
import { boundByController, classes, classNamed, isDelayed } from './storage-classes.ts';
import { UnmetClaims } from './unmet-claims.ts';
import { bestVolume, classOf, mismatch, refersTo } from './volume-matching.ts';
import { VolumeReclaimer } from './volume-reclaimer.ts';

const bindCompleted = 'pv.kubernetes.io/bind-completed';

export const volumeBinder: Controller = {
  name: 'volume-binder',
  writer: 'persistent-volume-binder',
  start: (context) => new VolumeBinder(context).start(),
};

/** Volumes, read once: many claims may be compared with each. */
const volumeIn = new Memo((entry: Entry) => entry.peek() as PersistentVolume);

class VolumeBinder {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #claims: WorkQueue;
  readonly #volumes: WorkQueue;
  readonly #reclaimer: VolumeReclaimer;
  readonly #unmet: UnmetClaims;
  readonly #relations = new ClaimsAndVolumes();

  constructor(private readonly context: SharedContext) {
    this.#registry = context.registry;
    this.#recorder = recorderFor(context, 'persistentvolume-controller');
    this.#reclaimer = new VolumeReclaimer(context, this.#recorder);
    this.#unmet = new UnmetClaims(context, this.#recorder);
    const onError = (_: string, error: Error): void => context.onError(error);
    // Concurrency 1: two claims must not choose the same volume.
    this.#claims = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#claim(key),
      onError,
      width: 1,
    });
    this.#volumes = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => this.#volume(name),
      onError,
      width: 1,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/persistentvolumes', (entry, previous) => {
        const volume = (entry ?? previous)!.peek() as PersistentVolume;
        const name = volume.metadata.name!;
        this.#relations.noteVolume(name, entry && volume);
        this.#volumes.add(name);
        for (const key of this.#relations.concernedBy(volume)) this.#claims.add(key);
      }),
      observe(this.context, 'core/persistentvolumeclaims', (entry, previous) => {
        const { namespace, name } = (entry ?? previous)!;
        const key = keyOf(namespace, name);
        this.#relations.noteClaim(key, entry?.peek() as PersistentVolumeClaim | undefined);
        this.#claims.add(key);
        if (!entry) for (const volume of this.#relations.ofClaim(key)) this.#volumes.add(volume);
      }),
      observe(this.context, classes, (entry) => entry && this.#claimsWaiting()),
      observe(this.context, 'core/pods', (entry, previous) => this.#podChanged(entry, previous)),
    ];
    return running(observations, [this.#claims, this.#volumes], this.#recorder);
  }

  #podChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const recycled = this.#reclaimer.volumeOf((entry ?? previous)!);
    if (recycled) this.#volumes.add(recycled);
    // The scheduler found no node for the pod: its claims report that they wait for a pod to be scheduled.
    if (!entry || !previous || !mayUseClaims(entry)) return;
    const pod = entry.peek() as Pod;
    if (!pod.spec?.nodeName)
      for (const claim of claimsOf(pod)) this.#claims.add(keyOf(entry.namespace, claim));
  }

  /** Processes pending claims again. */
  #claimsWaiting(): void {
    for (const key of this.#relations.pending) this.#claims.add(key);
  }

  #volumeNamed(name: string | undefined): PersistentVolume | undefined {
    if (!name) return undefined;
    return this.#registry.view.collection('core/persistentvolumes').get('', name)?.object() as
      | PersistentVolume
      | undefined;
  }

  #claimNamed(namespace: string, name: string): PersistentVolumeClaim | undefined {
    return this.#registry.view.collection('core/persistentvolumeclaims').get(namespace, name)?.object() as
      | PersistentVolumeClaim
      | undefined;
  }

  // Claims

  async #claim(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const claim = this.#claimNamed(namespace, name);
    if (!claim) return;
    if (claim.metadata.annotations?.[bindCompleted]) return this.#boundClaim(claim);
    if (claim.metadata.deletionTimestamp) return;
    if (!claim.spec?.volumeName) return this.#unboundClaim(claim);
    const volume = this.#volumeNamed(claim.spec.volumeName);
    if (!volume) return this.#claimPhase(claim, 'Pending');
    if (volume.spec?.claimRef && !refersTo(volume, claim)) {
      this.#warn(
        claim,
        'FailedBinding',
        `volume ${JSON.stringify(volume.metadata.name)} already bound to a different claim.`,
      );
      return this.#claimPhase(claim, 'Pending');
    }
    const why = mismatch(claim, volume);
    if (!why) return this.#bind(claim, volume, false);
    this.#warn(
      claim,
      'VolumeMismatch',
      `Cannot bind to requested volume ${JSON.stringify(volume.metadata.name)}: ${why}`,
    );
    return this.#claimPhase(claim, 'Pending');
  }

  async #unboundClaim(claim: PersistentVolumeClaim): Promise<void> {
    const storageClass = classNamed(this.#registry.view, classOf(claim));
    // Volumes of a delayed class are chosen by the scheduler, which reserves them for the claim.
    const delayed = isDelayed(storageClass);
    const { namespace = '', name = '' } = claim.metadata;
    const volumes = this.#registry.view.collection('core/persistentvolumes');
    const key = keyOf(namespace, name);
    const candidates = delayed ? [...this.#relations.ofClaim(key)] : this.#relations.candidates(key);
    // As they are now: the claim before may have taken one.
    const found = candidates.flatMap((one) => volumes.get('', one) ?? []).map((entry) => volumeIn.of(entry));
    const volume = bestVolume(claim, found, () => !delayed);
    if (volume) return this.#bind(claim, volume, true);
    await this.#unmet.attend(claim, storageClass);
    return this.#claimPhase(claim, 'Pending');
  }

  async #boundClaim(claim: PersistentVolumeClaim): Promise<void> {
    const lost = (text: string): Promise<void> => {
      if (claim.status?.phase !== 'Lost') this.#warn(claim, 'ClaimLost', text);
      return this.#claimPhase(claim, 'Lost');
    };
    if (!claim.spec?.volumeName)
      return lost('Bound claim has lost reference to PersistentVolume. Data on the volume is lost!');
    const volume = this.#volumeNamed(claim.spec.volumeName);
    if (!volume) return lost('Bound claim has lost its PersistentVolume. Data on the volume is lost!');
    if (!volume.spec?.claimRef || refersTo(volume, claim)) return this.#bind(claim, volume, false);
    if (claim.status?.phase !== 'Lost')
      this.#warn(
        claim,
        'ClaimMisbound',
        'Two claims are bound to the same volume, this one is bound incorrectly',
      );
    return this.#claimPhase(claim, 'Lost');
  }

  /** Binds a claim and a volume. `chosen`: this controller chose the volume. */
  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume, chosen: boolean): Promise<void> {
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    const volumeName = volume.metadata.name!;
    const reserved = volume.spec?.claimRef !== undefined;
    if (volume.spec?.claimRef?.uid !== uid)
      await changeStorage(this.context, 'persistentvolumes', volume, 'main', (object) => {
        const kind = 'PersistentVolumeClaim';
        object.spec!.claimRef = { kind, namespace, name, uid, apiVersion: 'v1', resourceVersion };
        if (!reserved) annotate(object, { [boundByController]: 'yes' });
      });
    await this.#volumePhase(volumeName, 'Bound');
    if (claim.spec?.volumeName !== volumeName || !claim.metadata.annotations?.[bindCompleted])
      await changeStorage(this.context, 'persistentvolumeclaims', claim, 'main', (object) => {
        object.spec!.volumeName = volumeName;
        annotate(object, { [bindCompleted]: 'yes', ...(chosen ? { [boundByController]: 'yes' } : {}) });
      });
    await changeStorage(this.context, 'persistentvolumeclaims', claim, 'status', (object) => {
      const { accessModes, capacity } = volume.spec!;
      // The capacity of a bound claim changes last when it is expanded, after that of its volume.
      const known = object.status?.phase === 'Bound' ? object.status.capacity : undefined;
      object.status = { ...object.status, phase: 'Bound', accessModes, capacity: known ?? capacity };
    });
  }

  async #claimPhase(claim: PersistentVolumeClaim, phase: string): Promise<void> {
    if (claim.status?.phase === phase) return;
    await changeStorage(this.context, 'persistentvolumeclaims', claim, 'status', (object) => {
      object.status = { ...object.status, phase };
    });
  }

  // Volumes

  async #volume(name: string): Promise<void> {
    const volume = this.#volumeNamed(name);
    if (!volume) return;
    const reference = volume.spec?.claimRef;
    if (!reference?.uid) {
      if (!volume.metadata.deletionTimestamp) await this.#volumePhase(name, 'Available');
      return;
    }
    const claim = this.#claimNamed(reference.namespace!, reference.name!);
    if (!claim || claim.metadata.uid !== reference.uid) {
      if (!['Released', 'Failed'].includes(volume.status?.phase ?? ''))
        await this.#volumePhase(name, 'Released');
      await this.#reclaimer.reclaim(this.#volumeNamed(name) ?? volume);
    } else if (!claim.spec?.volumeName) this.#claims.add(keyOf(reference.namespace!, reference.name!));
    else if (claim.spec.volumeName === name) await this.#volumePhase(name, 'Bound');
    else await this.#letGo(volume);
  }

  /**
   * Releases a volume whose claim has another one: a volume chosen by this controller becomes free, a pre-bound one
   * stays reserved.
   */
  async #letGo(volume: PersistentVolume): Promise<void> {
    await changeStorage(this.context, 'persistentvolumes', volume, 'main', (object) => {
      if (object.metadata.annotations?.[boundByController]) {
        delete object.spec!.claimRef;
        delete object.metadata.annotations[boundByController];
      } else delete object.spec!.claimRef?.uid;
    });
    await this.#volumePhase(volume.metadata.name!, 'Available');
  }

  async #volumePhase(name: string, phase: string): Promise<void> {
    const volume = this.#volumeNamed(name);
    if (!volume || volume.status?.phase === phase) return;
    await changeStorage(this.context, 'persistentvolumes', volume, 'status', (object) => {
      object.status = { phase };
    });
  }

  #warn(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.#recorder.warning(claimSubject(claim), reason, message);
  }
}
