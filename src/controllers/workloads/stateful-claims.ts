/**
 * Claims of stateful pods: created before the pod that uses them, and reused by its replacement. The owner of a claim
 * decides when it is deleted: one owned by the set goes with the set, one owned by its pod goes with the pod, one
 * without an owner stays.
 */

import type {
  OwnerReference,
  PersistentVolumeClaim,
  StatefulSet,
  StatefulSetPersistentVolumeClaimRetentionPolicy,
} from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { decodeObject } from '../../api/model/decode.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import { collectionOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { isNamespaceTerminating, type Writer } from '../shared/controller.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';
import { ownedItem } from '../shared/owned-index.ts';
import { changeOwnable, controllerReference, refersTo } from '../shared/ownership.ts';
import { claimNameOf, claimOf, podNameOf } from './stateful-identity.ts';

/** The owner of a claim. */
export type ClaimOwner = 'set' | 'pod' | 'nobody';

/** The owner of a pod's claims; `condemned` when the set is scaled down below that pod. */
export function claimOwner(
  { whenDeleted, whenScaled }: StatefulSetPersistentVolumeClaimRetentionPolicy = {},
  condemned: boolean,
): ClaimOwner {
  if (condemned && whenScaled === 'Delete') return 'pod';
  // A claim that is retained on scale-down is still owned by the set.
  return whenDeleted === 'Delete' ? 'set' : 'nobody';
}

interface Slot {
  readonly template: PersistentVolumeClaim;
  readonly name: string;
  readonly entry: Entry | undefined;
}

export class StatefulClaims {
  readonly #kind: Kind;
  readonly #podKind: Kind;

  constructor(
    private readonly writer: Writer,
    private readonly setKind: Kind,
    private readonly recorder: EventRecorder,
  ) {
    const { registry } = writer;
    this.#kind = registry.kinds.resource('v1', 'persistentvolumeclaims')!;
    this.#podKind = registry.kinds.resource('v1', 'pods')!;
  }

  /** Whether a claim is about to be deleted with the previous pod of the ordinal: a new pod has to wait for that. */
  isStale(set: StatefulSet, ordinal: number): boolean {
    if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return false;
    return this.#claims(set, ordinal).some(({ entry }) =>
      entry
        ?.peek()
        .metadata.ownerReferences?.some(
          (one) => refersTo(one, this.#podKind) && one.name === podNameOf(set, ordinal),
        ),
    );
  }

  /** Creates missing claims of an ordinal. */
  async make(set: StatefulSet, ordinal: number): Promise<void> {
    for (const { template, name, entry } of this.#claims(set, ordinal)) {
      const error = entry ? goingAway(entry) : await this.#create(set, claimOf(set, template, ordinal));
      if (entry && !error) continue;
      const pod = podNameOf(set, ordinal);
      if (!error) {
        const message = `create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`;
        this.recorder.normal(set, 'SuccessfulCreate', message);
        continue;
      }
      if (!isNamespaceTerminating(error)) {
        const message = `create Claim ${name} for Pod ${pod} in StatefulSet ${set.metadata.name} failed error: ${error.message}`;
        this.recorder.warning(set, 'FailedCreate', message);
      }
      throw error;
    }
  }

  /** Sets the owners of a pod's claims by the set's retention policy. */
  async settle(set: StatefulSet, ordinal: number, pod: IndexedPod, condemned: boolean): Promise<void> {
    const owner = claimOwner(set.spec?.persistentVolumeClaimRetentionPolicy, condemned);
    const wanted =
      owner === 'nobody'
        ? undefined
        : owner === 'set'
          ? controllerReference(this.setKind, set)
          : controllerReference(this.#podKind, pod.entry.peek());
    const own = new Set([set.metadata.uid, pod.uid]);
    for (const { entry } of this.#claims(set, ordinal)) {
      const references = entry?.peek().metadata.ownerReferences ?? [];
      if (!entry || isSettled(references, own, wanted)) continue;
      if (wanted && references.some((one) => one.controller && !own.has(one.uid))) {
        const message = `PersistentVolumeClaim ${entry.name} has a conflicting OwnerReference that acts as a managing controller, the retention policy is ignored for this claim`;
        this.recorder.warning(set, 'ConflictingController', message);
        continue;
      }
      await changeOwnable<PersistentVolumeClaim>(this.writer, ownedItem(entry), ({ metadata }) => {
        const others = (metadata.ownerReferences ?? []).filter(({ uid }) => !own.has(uid));
        metadata.ownerReferences = wanted ? [...others, wanted] : others;
        return true;
      });
    }
  }

  /** The claim templates, and the existing claims of an ordinal. */
  #claims(set: StatefulSet, ordinal: number): Slot[] {
    const collection = this.writer.registry.view.collection(this.#kind);
    return (set.spec?.volumeClaimTemplates ?? []).map((template) => {
      const name = claimNameOf(set, template.metadata.name ?? '', ordinal);
      return { template, name, entry: collection.get(set.metadata.namespace ?? '', name) };
    });
  }

  async #create(set: StatefulSet, claim: PersistentVolumeClaim): Promise<Error | undefined> {
    const { writing, request } = this.writer;
    const decoded = decodeObject(this.#kind.model, claim) as unknown as PersistentVolumeClaim;
    try {
      const collection = collectionOf(this.#kind, set.metadata.namespace ?? '');
      await create(writing, request('create'), collection, decoded);
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }
}

/** Whether the wanted owner, and no other possible one, is an owner of the claim. */
const isSettled = (
  references: readonly OwnerReference[],
  own: ReadonlySet<string | undefined>,
  wanted: OwnerReference | undefined,
): boolean =>
  semanticEqual(
    references.filter(({ uid }) => own.has(uid)),
    wanted ? [wanted] : [],
  );

const goingAway = (entry: Entry): Error | undefined =>
  entry.peek().metadata.deletionTimestamp ? new Error(`pvc ${entry.name} is being deleted`) : undefined;
