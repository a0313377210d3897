/**
 * The disruption controller: computes for each PodDisruptionBudget how many of its pods may be evicted now, in its
 * status. Evictions lower that number (api/kinds/policy/budget-guard.ts) and record their pods, until the controller has
 * seen them being deleted.
 */
import type {
  Condition,
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '../api/generated/types.ts';
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromObject,
} from '../api/kind/label-selector.ts';
import { tellAllowance } from '../api/kinds/policy/budget-guard.ts';
import { withCondition } from '../api/rules/shared/condition.ts';
import { semanticEqual } from '../api/text/object.ts';
import type { EventRecorder } from '../client/events.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { type Expectation, expectationOf } from './disruption-scale.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from './shared/controller.ts';
import { recorderFor } from './shared/event-sink.ts';
import { type IndexedPod, isFinished } from './shared/indexed-pod.ts';
import { Selectors } from './shared/selectors.ts';
import { WorkQueue } from './shared/work-queue.ts';

/** An evicted pod whose deletion has not begun after this time counts as healthy again. */
const departureMs = 2 * 60_000;

const budgets = 'policy/poddisruptionbudgets';
const targetMark = Buffer.from('"DisruptionTarget"');

export const disruptionController: Controller = {
  name: 'disruption',
  writer: 'disruption-controller',
  start: (context) => new Disruption(context).start(),
};

function selectorOf({ spec }: PodDisruptionBudget): LabelSelector | undefined {
  return spec?.selector && selectorFromObject(spec.selector as LabelSelectorObject);
}

class Disruption {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #budgets: WorkQueue;
  /** Pods with the condition that announces an eviction. */
  readonly #targets: WorkQueue;
  readonly #selectors = new Selectors(selectorOf);

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#recorder = recorderFor(context, 'controllermanager');
    this.#budgets = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
    });
    this.#targets = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#relieve(key),
      onError: (_, error) => onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, budgets, (entry, previous) => {
        this.#selectors.observe(entry, previous);
        if (entry) this.#budgets.add(keyOf(entry.namespace, entry.name));
      }),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#budgets, this.#targets], this.#recorder);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, labels } of [pod, previous].filter((one) => one !== undefined))
      for (const name of this.#selectors.selecting(namespace, labels))
        this.#budgets.add(keyOf(namespace, name));
    if (pod && !(previous && semanticEqual(pod.labels, previous.labels))) this.#tellAmbiguity(pod);
    const sinceMs = pod && targetSince(pod);
    if (sinceMs !== undefined)
      this.#targets.addAfter(keyOf(pod!.namespace, pod!.name), sinceMs + departureMs - this.#nowMs);
  }

  /** Records an event for a pod that several budgets select: it is undefined which one counts. */
  #tellAmbiguity({ entry, namespace, name, labels }: IndexedPod): void {
    const [first, ...others] = [...this.#selectors.selecting(namespace, labels)].sort();
    if (others.length === 0) return;
    const [space, pod, budget] = [namespace, name, first].map((text) => JSON.stringify(text));
    this.#recorder.warning(
      entry.peek(),
      'MultiplePodDisruptionBudgets',
      `Pod ${space}/${pod} matches multiple PodDisruptionBudgets.  Chose ${budget} arbitrarily.`,
    );
  }

  get #nowMs(): number {
    return this.#registry.sources.nowMs();
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const [namespace, name] = fromKey(key);
    const entry = this.#registry.view.collection(budgets).get(namespace, name);
    if (!entry) return;
    const budget = entry.peek() as PodDisruptionBudget;
    const selector = selectorOf(budget);
    const pods = selector ? this.context.pods.selected(namespace, selector) : [];
    const expectation = expectationOf(this.#registry, budget.spec ?? {}, pods);
    const status =
      'failure' in expectation
        ? this.#failedStatus(budget, expectation.failure)
        : this.#statusOf(key, budget, pods, expectation);
    if (semanticEqual(budget.status, status)) return;
    this.#tell(entry, pods, expectation);
    await writeStatus(this.context, entry, status);
  }

  #statusOf(
    key: string,
    { metadata, status = {} }: PodDisruptionBudget,
    pods: readonly IndexedPod[],
    { expectedPods, desiredHealthy }: Exclude<Expectation, { failure: string }>,
  ): PodDisruptionBudgetStatus {
    const disruptedPods = this.#disrupted(key, status.disruptedPods, pods);
    const currentHealthy = pods.filter(
      (pod) => pod.ready && !pod.marked && !Object.hasOwn(disruptedPods, pod.name),
    ).length;
    const next: PodDisruptionBudgetStatus = {
      observedGeneration: metadata.generation,
      ...(Object.keys(disruptedPods).length ? { disruptedPods } : {}),
      // A budget without pods allows no disruption: a pod may be created before the next evaluation.
      disruptionsAllowed: expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0,
      currentHealthy,
      desiredHealthy,
      expectedPods,
      conditions: status.conditions,
    };
    tellAllowance(next, this.#registry.now());
    return next;
  }

  /** Recorded evicted pods whose deletion has not been seen yet. */
  #disrupted(
    key: string,
    before: Readonly<Record<string, string>> = {},
    pods: readonly IndexedPod[],
  ): Record<string, string> {
    const nowMs = this.#nowMs;
    const kept: [name: string, time: string][] = [];
    for (const pod of pods) {
      if (pod.marked || !Object.hasOwn(before, pod.name)) continue;
      const time = before[pod.name]!;
      const leftMs = Date.parse(time) + departureMs - nowMs;
      // A new pod has the same name.
      if (pod.createdMs > Date.parse(time)) continue;
      if (leftMs < 0)
        this.#recorder.warning(
          pod.entry.peek(),
          'NotDeleted',
          `Pod was expected by PDB ${key} to be deleted but it wasn't`,
        );
      else {
        kept.push([pod.name, time]);
        this.#budgets.addAfter(key, leftMs + 1);
      }
    }
    return Object.fromEntries(kept);
  }

  /** When the expected number of pods is not known, no disruption is allowed. */
  #failedStatus({ status = {} }: PodDisruptionBudget, message: string): PodDisruptionBudgetStatus {
    const failed: Omit<Condition, 'lastTransitionTime'> = {
      type: 'DisruptionAllowed',
      status: 'False',
      reason: 'SyncFailed',
      message,
      observedGeneration: status.observedGeneration,
    };
    return {
      ...status,
      disruptionsAllowed: 0,
      conditions: withCondition(status.conditions, failed, this.#registry.now()),
    };
  }

  #tell(entry: Entry, pods: readonly IndexedPod[], expectation: Expectation): void {
    const budget = entry.peek();
    if (pods.length === 0) this.#recorder.normal(budget, 'NoPods', 'No matching pods found');
    if ('failure' in expectation)
      this.#recorder.warning(
        budget,
        'CalculateExpectedPodCountFailed',
        `Failed to calculate the number of expected pods: ${expectation.failure}`,
      );
    else if (expectation.unmanaged > 0)
      this.#recorder.warning(
        budget,
        'UnmanagedPods',
        'Some pods of this budget have no controller, so it is not known how many there should be. Set spec.minAvailable to a number to have them counted.',
      );
  }

  /** Removes the condition of an eviction that did not happen. */
  async #relieve(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const pod = this.context.pods.get(namespace, name);
    const sinceMs = pod && targetSince(pod);
    if (sinceMs === undefined) return;
    const leftMs = sinceMs + departureMs - this.#nowMs;
    if (leftMs > 0) return this.#targets.addAfter(key, leftMs);
    await ifUnchanged(
      modify(
        this.context.writing,
        this.context.request('update'),
        targetOf(pod!.entry, 'status'),
        (current) => {
          const object = current.object() as Pod;
          const condition = object.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
          if (condition?.status !== 'True' || object.metadata.deletionTimestamp) return object;
          condition.status = 'False';
          condition.lastTransitionTime = this.#registry.now();
          condition.reason = undefined;
          condition.message = undefined;
          return object;
        },
      ),
    );
  }
}

/** When a pod that is not being deleted got that condition. Conditions set by the kubelet do not expire. */
function targetSince(pod: IndexedPod): number | undefined {
  if (pod.marked || isFinished(pod) || !pod.entry.document.includes(targetMark)) return undefined;
  const { status } = pod.entry.peek() as Pod;
  const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  if (condition?.status !== 'True' || condition.reason === 'TerminationByKubelet') return undefined;
  return condition.lastTransitionTime ? Date.parse(condition.lastTransitionTime) : 0;
}
