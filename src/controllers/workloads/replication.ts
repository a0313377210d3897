/**
 * Replication: keeps the requested number of pods of a template, and counts them in the status. Shared by
 * ReplicationControllers and ReplicaSets, which differ in their selectors and statuses.
 */
import type { ObjectMeta, PodTemplateSpec, ReplicaSetCondition } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  fromKey,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { FailureBackoff } from '../shared/failure-backoff.ts';
import {
  availableInMs,
  type IndexedPod,
  isActive,
  isFinished,
  nextAvailableInMs,
} from '../shared/indexed-pod.ts';
import { claimPods, refersTo } from '../shared/ownership.ts';
import { PodControl } from '../shared/pod-control.ts';
import { mapSelector, Selectors } from '../shared/selectors.ts';
import { slowStart } from '../shared/slow-start.ts';
import { victimsFirst } from '../shared/victims.ts';
import { WorkQueue } from '../shared/work-queue.ts';

/** Pods created or deleted per pass. */
const burstMax = 500;
/**
 * An owner of this many pods is not counted again for each change of one of them: all their first changes together would
 * take a time that grows with the square of their number. Changes that may call for another pod are looked at at once.
 */
const manyPods = 1_000;
/** Time between two counts, for each pod. */
const restMsPerPod = 0.02;

/** Fields of both kinds. */
export interface Replicator {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
  spec?: { replicas?: number; minReadySeconds?: number; template?: PodTemplateSpec; selector?: unknown };
  status?: ReplicatorStatus;
}

export interface ReplicatorStatus {
  replicas?: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: ReplicaSetCondition[];
}

/** The differences between the kinds. */
export interface ReplicationForm<T extends Replicator> {
  readonly apiVersion: string;
  readonly resource: string;
  /** Source of its events. */
  readonly component: string;
  /** Undefined: it selects nothing. */
  selectorOf(object: T): LabelSelector | undefined;
  /** Active pods of other owners with the same purpose: nodes with many of them lose a pod first. */
  related?(object: T): readonly IndexedPod[];
  /** Whether the status counts pods that are being deleted. */
  readonly countsTerminating: boolean;
}

interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly error: Error;
}

export class Replication<T extends Replicator> {
  readonly #registry: Registry;
  readonly #kind: Kind;
  readonly #recorder: EventRecorder;
  readonly #control: PodControl;
  readonly #queue: WorkQueue;
  readonly #selectors: Selectors<T>;
  /** Keys of objects with pods that have failed and are not replaced yet. */
  readonly #failed = new Set<string>();
  readonly #failures = new FailureBackoff();
  /** Time between two counts of owners of many pods, by key. */
  readonly #restMs = new Map<string, number>();

  constructor(
    private readonly context: SharedContext,
    private readonly form: ReplicationForm<T>,
  ) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#kind = registry.kinds.resource(form.apiVersion, form.resource)!;
    this.#recorder = recorderFor(context, form.component);
    this.#control = new PodControl(context, this.#recorder);
    this.#selectors = new Selectors((object) => form.selectorOf(object));
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Retry periodically: a quota may get room, or a missing account appear, without a change of the object.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, this.#kind, (entry, previous) => {
        this.#selectors.observe(entry, previous);
        // Its own writes of the status are changes, too.
        const isNew = entry && entry.peek().metadata.generation !== previous?.peek().metadata.generation;
        if (entry) this.#look(keyOf(entry.namespace, entry.name), isNew);
        else this.#forget(previous!);
      }),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, controller } of [pod, previous].filter((one) => one !== undefined))
      if (refersTo(controller, this.#kind)) {
        const staysActive = pod && previous && isActive(pod) && isActive(previous);
        this.#look(keyOf(namespace, controller?.name ?? ''), !staysActive);
      }
    if (pod && hasFailed(pod) && !(previous && hasFailed(previous)) && refersTo(pod.controller, this.#kind))
      this.#failed.add(keyOf(pod.namespace, pod.controller?.name ?? ''));
    if (!pod || pod.controller || !isActive(pod)) return;
    for (const name of this.#selectors.selecting(pod.namespace, pod.labels))
      this.#queue.add(keyOf(pod.namespace, name));
  }

  /** Looks at an owner, at once when the change is urgent. */
  #look(key: string, isUrgent = false): void {
    const restMs = this.#registry.timers.isRunning ? this.#restMs.get(key) : undefined;
    if (isUrgent || restMs === undefined) this.#queue.add(key);
    else this.#queue.addAfter(key, restMs);
  }

  #forget({ namespace, name }: Entry): void {
    const key = keyOf(namespace, name);
    this.#failed.delete(key);
    this.#failures.forget(key);
    this.#restMs.delete(key);
  }

  /** Time until failed pods may be replaced, each time after a longer one; 0 for now. */
  #replacementInMs(key: string): number {
    if (!this.#failed.has(key)) return 0;
    const nowMs = this.#registry.sources.nowMs();
    const waitMs = this.#failures.waitMs(key, '', nowMs);
    if (waitMs > 0) return waitMs;
    this.#failed.delete(key);
    this.#failures.failed(key, '', nowMs);
    return 0;
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const [namespace, name] = fromKey(key);
    const entry = this.#registry.view.collection(this.#kind).get(namespace, name);
    if (!entry) return;
    const object = entry.peek() as T;
    const { deletionTimestamp, finalizers, uid = '' } = object.metadata;
    // An owner that is orphaning its pods is ignored.
    if (deletionTimestamp && finalizers?.includes('orphan')) return;
    const selector = this.form.selectorOf(object);
    if (!selector) return;
    const pods = await claimPods(this.context, { entry, owner: object, selector, claimable: isActive });
    const active = pods.filter(isActive);
    const isSettled = deletionTimestamp || active.length === (object.spec?.replicas ?? 1);
    const failure = isSettled ? undefined : await this.#scale(key, object, active);
    const own = isSettled
      ? pods
      : this.context.pods.controlledBy(namespace, uid).filter(({ labels }) => selector.matches(labels));
    if (own.length < manyPods) this.#restMs.delete(key);
    else this.#restMs.set(key, own.length * restMsPerPod);
    const nowMs = this.#registry.sources.nowMs();
    await writeStatus(this.context, entry, this.#statusOf(object, own, failure, nowMs));
    const { minReadySeconds } = object.spec ?? {};
    if (minReadySeconds)
      this.#queue.addAfter(key, nextAvailableInMs(own.filter(isActive), minReadySeconds, nowMs));
    if (failure) throw failure.error;
  }

  /** Creates missing pods, or deletes surplus ones. */
  async #scale(key: string, object: T, active: readonly IndexedPod[]): Promise<Failure | undefined> {
    const { replicas = 1, template = {} } = object.spec ?? {};
    const missing = replicas - active.length;
    if (missing > 0) {
      const waitMs = this.#replacementInMs(key);
      if (waitMs > 0) {
        this.#queue.addAfter(key, waitMs);
        return undefined;
      }
      const error = await slowStart(Math.min(missing, burstMax), () =>
        this.#control.create(this.#kind, object, template),
      );
      return error && !isNamespaceTerminating(error) ? { reason: 'FailedCreate', error } : undefined;
    }
    if (missing === 0) return undefined;
    const related = this.form.related?.(object) ?? [];
    const victims = victimsFirst(active, this.#registry.sources.nowMs(), related).slice(
      0,
      Math.min(-missing, burstMax),
    );
    const results = await Promise.allSettled(victims.map((pod) => this.#control.delete(object, pod)));
    const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    return failed && { reason: 'FailedDelete', error: failed.reason as Error };
  }

  #statusOf(
    { metadata, spec = {}, status = {} }: T,
    own: readonly IndexedPod[],
    failure: Failure | undefined,
    nowMs: number,
  ): ReplicatorStatus {
    const labels = mapSelector(spec.template?.metadata?.labels);
    let [active, labeled, ready, available, terminating] = [0, 0, 0, 0, 0];
    for (const pod of own) {
      if (isTerminating(pod)) terminating++;
      if (!isActive(pod)) continue;
      active++;
      if (!labels || labels.matches(pod.labels)) labeled++;
      if (!pod.ready) continue;
      ready++;
      if (availableInMs(pod, spec.minReadySeconds, nowMs) <= 0) available++;
    }
    return {
      replicas: active,
      fullyLabeledReplicas: labeled,
      readyReplicas: ready,
      availableReplicas: available,
      ...(this.form.countsTerminating ? { terminatingReplicas: terminating } : {}),
      observedGeneration: metadata.generation,
      conditions: this.#conditions(status.conditions, failure),
    };
  }

  /** The condition ReplicaFailure is set on a failure, and removed when it is over. */
  #conditions(
    before: readonly ReplicaSetCondition[] = [],
    failure: Failure | undefined,
  ): ReplicaSetCondition[] {
    const others = before.filter(({ type }) => type !== 'ReplicaFailure');
    if (!failure) return others;
    const known = before.find(({ type }) => type === 'ReplicaFailure');
    const condition = known ?? {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: this.#registry.now(),
      reason: failure.reason,
      message: failure.error.message,
    };
    return [...others, condition];
  }
}

/** Pods that are being deleted are not counted: they may fail because of that. */
const hasFailed = (pod: IndexedPod): boolean => pod.phase === 'Failed' && !pod.marked;

const isTerminating = (pod: IndexedPod): boolean => pod.marked && !isFinished(pod);
