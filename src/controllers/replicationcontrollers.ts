/**
 * The replication controller: keeps as many pods of a ReplicationController as it asks for, and says on its status
 * how many there are.
 */
import type {
  ReplicationController,
  ReplicationControllerCondition,
  ReplicationControllerStatus,
} from '../api/generated/types.ts';
import type { LabelSelector } from '../api/labelselector.ts';
import type { EventRecorder } from '../client/events.ts';
import type { Entry } from '../registry/entry.ts';
import type { Registry } from '../registry/registry.ts';
import {
  type Controller,
  fromKey,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from './controller.ts';
import { recorderFor } from './eventsink.ts';
import { type IndexedPod, isActive } from './indexedpod.ts';
import { claimPods } from './ownership.ts';
import { PodControl } from './podcontrol.ts';
import { mapSelector, Selectors } from './selectors.ts';
import { slowStart } from './slowstart.ts';
import { victimsFirst } from './victims.ts';
import { WorkQueue } from './workqueue.ts';

/** Pods made or deleted before the rest of the world is looked at again. */
const burstMax = 500;

const ownKind = 'ReplicationController';

interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly error: Error;
}

export const replicationController: Controller = {
  name: 'replicationcontroller',
  start: (context) => new Replication(context).start(),
};

const selectorOf = (controller: ReplicationController): LabelSelector | undefined =>
  mapSelector(controller.spec?.selector);

class Replication {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #control: PodControl;
  readonly #queue: WorkQueue;
  readonly #selectors = new Selectors(selectorOf);

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#recorder = recorderFor(context, 'replication-controller');
    this.#control = new PodControl(registry, this.#recorder);
    this.#queue = new WorkQueue({
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Room in a quota, or an account that was missing, may come without a change to the controller.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'replicationcontrollers', (entry, previous) => {
        this.#selectors.observe(entry, previous);
        if (entry) this.#queue.add(keyOf(entry.namespace, entry.name));
      }),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, controller } of [pod, previous].filter((one) => one !== undefined))
      if (controller?.kind === ownKind) this.#queue.add(keyOf(namespace, controller.name ?? ''));
    if (!pod || pod.controller || !isActive(pod)) return;
    for (const name of this.#selectors.selecting(pod.namespace, pod.labels))
      this.#queue.add(keyOf(pod.namespace, name));
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const [namespace, name] = fromKey(key);
    const entry = this.#registry.view.collection('replicationcontrollers').get(namespace, name);
    if (!entry) return;
    const controller = entry.peek() as ReplicationController;
    const { deletionTimestamp, finalizers, uid = '' } = controller.metadata;
    // One that is letting go of its pods is not to be written to any more: it is as good as gone.
    if (deletionTimestamp && finalizers?.includes('orphan')) return;
    const selector = selectorOf(controller);
    if (!selector) return;
    const pods = await claimPods(this.context, { entry, owner: controller, selector, claimable: isActive });
    const failure = deletionTimestamp
      ? undefined
      : await this.#scale(entry, controller, pods.filter(isActive));
    const active = this.context.pods
      .controlledBy(namespace, uid)
      .filter((pod) => isActive(pod) && selector.matches(pod.labels));
    await writeStatus(this.#registry, entry, this.#statusOf(controller, active, failure));
    this.#lookAgain(key, controller, active);
    if (failure) throw failure.error;
  }

  /** Makes pods that are missing, or deletes those that are too many. */
  async #scale(
    { kind }: Entry,
    controller: ReplicationController,
    active: readonly IndexedPod[],
  ): Promise<Failure | undefined> {
    const { replicas = 1, template = {} } = controller.spec ?? {};
    const missing = replicas - active.length;
    if (missing > 0) {
      const error = await slowStart(Math.min(missing, burstMax), () =>
        this.#control.create(kind, controller, template),
      );
      return error && !isNamespaceTerminating(error) ? { reason: 'FailedCreate', error } : undefined;
    }
    if (missing === 0) return undefined;
    const victims = victimsFirst(active, this.#registry.chance.nowMs()).slice(
      0,
      Math.min(-missing, burstMax),
    );
    const results = await Promise.allSettled(victims.map((pod) => this.#control.delete(controller, pod)));
    const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    return failed && { reason: 'FailedDelete', error: failed.reason as Error };
  }

  #statusOf(
    { metadata, spec = {}, status = {} }: ReplicationController,
    active: readonly IndexedPod[],
    failure: Failure | undefined,
  ): ReplicationControllerStatus {
    const labels = mapSelector(spec.template?.metadata?.labels);
    const ready = active.filter((pod) => pod.ready);
    const nowMs = this.#registry.chance.nowMs();
    return {
      replicas: active.length,
      fullyLabeledReplicas: active.filter((pod) => !labels || labels.matches(pod.labels)).length,
      readyReplicas: ready.length,
      availableReplicas: ready.filter((pod) => availableInMs(pod, spec.minReadySeconds, nowMs) <= 0).length,
      observedGeneration: metadata.generation,
      conditions: this.#conditions(status.conditions, failure),
    };
  }

  /** What has failed is said once, and no longer when it works again. */
  #conditions(
    before: readonly ReplicationControllerCondition[] = [],
    failure: Failure | undefined,
  ): ReplicationControllerCondition[] {
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

  /** A ready pod becomes available through the passing of time alone. */
  #lookAgain(key: string, { spec = {} }: ReplicationController, active: readonly IndexedPod[]): void {
    const nowMs = this.#registry.chance.nowMs();
    for (const pod of active) {
      if (!pod.ready) continue;
      const inMs = availableInMs(pod, spec.minReadySeconds, nowMs);
      if (inMs > 0 && inMs !== Number.POSITIVE_INFINITY) this.#queue.addAfter(key, inMs);
    }
  }
}

/** How long until a ready pod is available; infinite when nobody knows since when it is ready. */
function availableInMs({ readyChangedMs }: IndexedPod, minReadySeconds = 0, nowMs: number): number {
  if (minReadySeconds === 0) return 0;
  return readyChangedMs === undefined
    ? Number.POSITIVE_INFINITY
    : readyChangedMs + minReadySeconds * 1000 - nowMs;
}
