/**
 * Stateful plan: the next steps for the pods of a stateful set, computed from the existing ones.
 *
 * First every ordinal gets its pod, then surplus pods are deleted, then pods of old revisions are replaced. In an
 * ordered set each step waits for the one before: a pod is created when all before it are available, and deleted when
 * all others are, from the last to the first. A pod that does not become available blocks all further steps.
 */
import type { StatefulSet, StatefulSetSpec } from '../../api/generated/types.ts';
import { availableInMs, type IndexedPod, isFinished } from '../shared/indexed-pod.ts';
import { hasIdentity, revisionNameOf } from './stateful-identity.ts';

/** Pods that are created in one pass; what it makes brings the next. A set may ask for two thousand million. */
const creationsMax = 500;

export type Step =
  /** Creates the pod of an ordinal, from the current revision or the one being replaced. */
  | { readonly do: 'create'; readonly ordinal: number; readonly from: 'current' | 'update' }
  /** Deletes a finished pod, so that its name is free. */
  | { readonly do: 'recreate'; readonly ordinal: number; readonly pod: IndexedPod }
  /** Ensures that a pod has its labels and claims. */
  | { readonly do: 'keep'; readonly ordinal: number; readonly pod: IndexedPod; readonly condemned: boolean }
  | { readonly do: 'delete'; readonly ordinal: number; readonly pod: IndexedPod };

/** Steps that may run in parallel with podManagementPolicy Parallel; a stage starts when the previous one is done. */
export type PlanStage = readonly Step[];

export interface Circumstances {
  /** The pods by ordinal. */
  readonly pods: ReadonlyMap<number, IndexedPod>;
  /** Name of the current revision. */
  readonly updateRevision: string;
  readonly nowMs: number;
}

export const isOrdered = ({ spec }: StatefulSet): boolean => spec?.podManagementPolicy !== 'Parallel';

export function planOf(set: StatefulSet, circumstances: Circumstances): PlanStage[] {
  const plan = new StatefulPlan(set, circumstances);
  const stages: PlanStage[] = [];
  for (const stage of [plan.replicas, plan.farewells, plan.surplus, plan.outdated]) {
    const { steps, blocked } = stage();
    stages.push(steps);
    if (blocked) break;
  }
  return stages.filter(({ length }) => length > 0);
}

interface Found {
  readonly steps: Step[];
  /** Stops the plan: no later step may run yet. */
  readonly blocked: boolean;
}

class StatefulPlan {
  readonly #spec: StatefulSetSpec;
  readonly #status: NonNullable<StatefulSet['status']>;
  readonly #ordered: boolean;
  readonly #hasClaims: boolean;
  readonly #start: number;
  readonly #end: number;
  /** Surplus ordinals, the highest first. */
  readonly #condemned: readonly number[];

  constructor(
    set: StatefulSet,
    private readonly now: Circumstances,
  ) {
    const { spec = {}, status = {} } = set;
    this.#spec = spec;
    this.#status = status;
    this.#ordered = isOrdered(set);
    this.#hasClaims = (spec.volumeClaimTemplates ?? []).length > 0;
    this.#start = spec.ordinals?.start ?? 0;
    this.#end = this.#start + (spec.replicas ?? 1);
    this.#condemned = [...now.pods.keys()]
      .filter((ordinal) => ordinal < this.#start || ordinal >= this.#end)
      .sort((a, b) => b - a);
  }

  /** Every ordinal gets a pod, and every pod its labels and claims. */
  readonly replicas = (): Found => {
    const steps: Step[] = [];
    let creations = 0;
    for (let ordinal = this.#start; ordinal < this.#end && creations < creationsMax; ordinal++) {
      const pod = this.now.pods.get(ordinal);
      if (!pod) {
        steps.push({ do: 'create', ordinal, from: this.#sourceOf(ordinal) });
        creations++;
      } else if (isFinished(pod)) {
        if (!pod.marked) steps.push({ do: 'recreate', ordinal, pod });
      } else if (!pod.marked && (this.#hasClaims || !hasIdentity(pod, ordinal)))
        steps.push({ do: 'keep', ordinal, pod, condemned: false });
      if (this.#ordered && !(pod && this.#serves(pod))) return { steps, blocked: true };
    }
    return { steps, blocked: false };
  };

  /** Claims of surplus pods get the owner that applies after a scale-down. */
  readonly farewells = (): Found => ({
    steps: this.#hasClaims
      ? this.#condemned.map((ordinal) => ({
          do: 'keep',
          ordinal,
          pod: this.now.pods.get(ordinal)!,
          condemned: true,
        }))
      : [],
    blocked: false,
  });

  /** Deletes surplus pods, from the highest ordinal down. */
  readonly surplus = (): Found => {
    const steps: Step[] = [];
    const firstUnwell = this.#firstUnwell();
    for (const ordinal of this.#condemned) {
      const pod = this.now.pods.get(ordinal)!;
      if (!this.#ordered) {
        if (!pod.marked) steps.push({ do: 'delete', ordinal, pod });
        continue;
      }
      // A pod that is not available may be deleted if it is the first such one: waiting for it could take for ever.
      if (!pod.marked && (this.#serves(pod) || pod === firstUnwell))
        steps.push({ do: 'delete', ordinal, pod });
      return { steps, blocked: true };
    }
    return { steps, blocked: false };
  };

  /** Replaces the last pod of an old revision, when those after it are available again. */
  readonly outdated = (): Found => {
    const { type, rollingUpdate } = this.#spec.updateStrategy ?? {};
    const steps: Step[] = [];
    if (type === 'OnDelete') return { steps, blocked: false };
    for (let ordinal = this.#end - 1; ordinal >= this.#start + (rollingUpdate?.partition ?? 0); ordinal--) {
      const pod = this.now.pods.get(ordinal);
      if (!pod || isFinished(pod)) break;
      if (!pod.marked && revisionNameOf(pod) !== this.now.updateRevision) {
        steps.push({ do: 'delete', ordinal, pod });
        break;
      }
      if (!this.#serves(pod)) break;
    }
    return { steps, blocked: false };
  };

  /** Pods below the partition keep their revision, also when they are created again. */
  #sourceOf(ordinal: number): 'current' | 'update' {
    const { type, rollingUpdate } = this.#spec.updateStrategy ?? {};
    if (type !== 'RollingUpdate') return 'update';
    const kept = rollingUpdate ? (rollingUpdate.partition ?? 0) : (this.#status.currentReplicas ?? 0);
    return ordinal < this.#start + kept ? 'current' : 'update';
  }

  #serves(pod: IndexedPod): boolean {
    return isWell(pod) && availableInMs(pod, this.#spec.minReadySeconds, this.now.nowMs) <= 0;
  }

  /** The first pod that is not available: among the requested ordinals, else among the surplus ones. */
  #firstUnwell(): IndexedPod | undefined {
    for (let ordinal = this.#start; ordinal < this.#end; ordinal++) {
      const pod = this.now.pods.get(ordinal);
      if (!pod || !isWell(pod)) return pod;
    }
    return this.#condemned
      .toReversed()
      .map((ordinal) => this.now.pods.get(ordinal)!)
      .find((pod) => !isWell(pod));
  }
}

export const isRunningAndReady = ({ phase, ready }: IndexedPod): boolean => phase === 'Running' && ready;

const isWell = (pod: IndexedPod): boolean => isRunningAndReady(pod) && !pod.marked;
