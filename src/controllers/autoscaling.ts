/** Autoscaling: one evaluation of an autoscaler, which sets the number of replicas of a controller by the metrics of its pods. */
import { resourceText } from '../api/errors/errors.ts';
import type {
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerV2,
  MetricSpec,
  MetricStatus,
  Pod,
} from '../api/generated/types.ts';
import type { Kind } from '../api/kind/kind.ts';
import { type LabelSelector, type Labels, selectorFromObject } from '../api/kind/label-selector.ts';
import { milliValue, parseQuantity, toNumber } from '../api/values/quantity.ts';
import type { EventRecorder } from '../client/events.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { rescale, type Scale, scaleOf, usualScale } from '../registry/verbs/scale.ts';
import type { Entry } from '../registry/view/entry.ts';
import { givenInSlices } from '../time-slices.ts';
import { ScalingPace } from './scaling-pace.ts';
import { type MeasuredPod, type Proposal, propose, type ScalingTarget } from './scaling-proposal.ts';
import { type SharedContext, writeStatus } from './shared/controller.ts';
import { type IndexedPod, isActive } from './shared/indexed-pod.ts';
import { refersTo } from './shared/ownership.ts';

/** The result of one evaluation of an autoscaler. */
interface Findings {
  readonly current: number;
  readonly desired: number;
  readonly metrics: MetricStatus[];
  readonly conditions: HorizontalPodAutoscalerCondition[];
  readonly scaled: boolean;
}

/** The input of one evaluation. */
interface Evaluation {
  readonly autoscaler: HorizontalPodAutoscalerV2;
  /** The kind of the object that is scaled, and the object. */
  readonly kind: Kind;
  readonly target: Entry;
  readonly current: number;
  /** The conditions of the new status, in their order. */
  readonly conditions: HorizontalPodAutoscalerCondition[];
}

export class Autoscaling {
  readonly #registry: Registry;
  readonly #paces = new Map<string, ScalingPace>();

  constructor(
    private readonly context: SharedContext,
    private readonly recorder: EventRecorder,
  ) {
    this.#registry = context.registry;
  }

  forget(key: string): void {
    this.#paces.delete(key);
  }

  async evaluate(key: string, entry: Entry): Promise<void> {
    const autoscaler = entry.object() as HorizontalPodAutoscalerV2;
    await this.#write(entry, autoscaler, await this.#decide(key, autoscaler));
  }

  async #write(entry: Entry, autoscaler: HorizontalPodAutoscalerV2, found: Findings): Promise<void> {
    const { status: before = {}, metadata } = autoscaler;
    const now = this.#registry.now();
    const conditions = found.conditions.map((next) => {
      const old = before.conditions?.find(({ type }) => type === next.type);
      return {
        ...next,
        lastTransitionTime: old && old.status === next.status ? old.lastTransitionTime : now,
      };
    });
    await writeStatus(this.context, entry, {
      ...before,
      observedGeneration: metadata.generation,
      ...(found.scaled ? { lastScaleTime: now } : {}),
      currentReplicas: found.current,
      desiredReplicas: found.desired,
      currentMetrics: found.metrics,
      conditions,
    });
  }

  async #decide(key: string, autoscaler: HorizontalPodAutoscalerV2): Promise<Findings> {
    const { minReplicas = 1, maxReplicas = 1 } = autoscaler.spec ?? {};
    const evaluation = this.#begin(autoscaler);
    if ('scaled' in evaluation) return evaluation;
    const { current, conditions } = evaluation;
    if (current === 0) {
      const message = 'scaling is disabled since the replica count of the target is zero';
      conditions.push(condition('ScalingActive', false, 'ScalingDisabled', message));
      return { current, desired: 0, metrics: [], conditions, scaled: false };
    }
    const outside = 'Current number of replicas';
    if (current > maxReplicas)
      return this.#follow(evaluation, maxReplicas, `${outside} above Spec.MaxReplicas`, []);
    if (current < minReplicas)
      return this.#follow(evaluation, minReplicas, `${outside} below Spec.MinReplicas`, []);
    return this.#scaleByMetrics(key, evaluation);
  }

  /** Finds the object to scale; without it, the evaluation is over. */
  #begin(autoscaler: HorizontalPodAutoscalerV2): Evaluation | Findings {
    const { scaleTargetRef: reference = {} } = autoscaler.spec ?? {};
    const kind = this.#scalable(reference.kind, reference.apiVersion);
    const { namespace = '' } = autoscaler.metadata;
    const target = kind && this.#registry.view.collection(kind).get(namespace, reference.name ?? '');
    if (!kind || !target) {
      const what = kind ? resourceText(kind) : (reference.kind ?? '').toLowerCase();
      const why = `${what} ${JSON.stringify(reference.name)} not found`;
      this.#warn(autoscaler, 'FailedGetScale', why);
      const message = `the HPA controller was unable to get the target's current scale: ${why}`;
      const conditions = [condition('AbleToScale', false, 'FailedGetScale', message)];
      return { current: 0, desired: 0, metrics: [], conditions, scaled: false };
    }
    const message = "the HPA controller was able to get the target's current scale";
    const conditions = [condition('AbleToScale', true, 'SucceededGetScale', message)];
    const current = scaleOf(target, usualScale).spec.replicas ?? 0;
    return { autoscaler, kind, target, current, conditions };
  }

  /** Sets the replicas that the metrics propose, as fast as the autoscaler's behaviour allows. */
  async #scaleByMetrics(key: string, evaluation: Evaluation): Promise<Findings> {
    const { autoscaler, target, current, conditions } = evaluation;
    const { replicas, name, metrics, error } = await this.#measure(autoscaler, target, current);
    if (error === undefined) {
      const message = `the HPA was able to successfully calculate a replica count from ${name}`;
      conditions.push(condition('ScalingActive', true, 'ValidMetricFound', message));
    } else {
      const message = `the HPA was unable to compute the replica count: ${error}`;
      conditions.push(condition('ScalingActive', false, 'FailedGetResourceMetric', message));
      this.#warn(autoscaler, 'FailedGetResourceMetric', error);
      const count = autoscaler.spec?.metrics?.length ?? 0;
      const invalid = `invalid metrics (1 invalid out of ${count}), first error is: ${error}`;
      this.#warn(autoscaler, 'FailedComputeMetricsReplicas', invalid);
      if (replicas === undefined || replicas <= current)
        return { current, desired: current, metrics, conditions, scaled: false };
    }
    const pace = this.#paces.get(key) ?? new ScalingPace();
    this.#paces.set(key, pace);
    const nowMs = this.#registry.sources.nowMs();
    const limited = pace.limit(autoscaler.spec!, current, replicas!, nowMs);
    conditions.push(condition('ScalingLimited', limited.limited, limited.reason, limited.message));
    const reason = limited.replicas > current ? `${name} above target` : 'All metrics below target';
    const found = await this.#follow(evaluation, limited.replicas, reason, metrics);
    if (found.scaled) pace.stepped(current, found.desired, nowMs);
    return found;
  }

  /** The kind of the scaled object, if it can be scaled. */
  #scalable(kind: string | undefined, apiVersion: string | undefined): Kind | undefined {
    return [...this.#registry.kinds.stored()].find(
      (one) =>
        one.subresources?.some(({ name }) => name === 'scale') &&
        // Core kinds match by kind alone: references to them may have no group, or the former extensions group.
        (apiVersion && one.group !== '' ? refersTo({ kind, apiVersion }, one) : one.kind === kind),
    );
  }

  /** Sets the number of replicas, and reports whether that went well. */
  async #follow(
    { autoscaler, kind, current, conditions }: Evaluation,
    desired: number,
    reason: string,
    metrics: MetricStatus[],
  ): Promise<Findings> {
    if (desired === current) return { current, desired, metrics, conditions, scaled: false };
    const { namespace = '' } = autoscaler.metadata;
    const { name = '' } = autoscaler.spec!.scaleTargetRef!;
    const able = conditions.find(({ type }) => type === 'AbleToScale')!;
    try {
      const read = (scale: Scale): Scale => ({ ...scale, spec: { replicas: desired } });
      const target = targetOf({ kind, namespace, name }, 'scale');
      await rescale(this.context.writing, this.context.request('update'), target, usualScale, read);
    } catch (error) {
      const why = (error as Error).message;
      this.#warn(autoscaler, 'FailedRescale', `New size: ${desired}; reason: ${reason}; error: ${why}`);
      Object.assign(able, {
        status: 'False',
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${why}`,
      });
      return { current, desired: current, metrics, conditions, scaled: false };
    }
    this.recorder.normal(subject(autoscaler), 'SuccessfulRescale', `New size: ${desired}; reason: ${reason}`);
    Object.assign(able, {
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${desired}`,
    });
    return { current, desired, metrics, conditions, scaled: true };
  }

  /** The highest number of replicas that any metric proposes. */
  async #measure(
    autoscaler: HorizontalPodAutoscalerV2,
    target: Entry,
    current: number,
  ): Promise<BestProposal> {
    const { namespace } = autoscaler.metadata;
    const selector = selectorOf(target);
    await this.#registry.view.caughtUp();
    const pods = this.context.pods.selected(namespace!, selector).filter(isActive);
    const wanted = autoscaler.spec?.metrics ?? [];
    const known = new Map<string, Measured>();
    for (const name of resources)
      if (wanted.some((metric) => resourceOf(metric) === name))
        known.set(name, await this.#measured(name, namespace!, pods));
    return givenInSlices(proposed(wanted, known, current));
  }

  /** What each pod uses of a resource, found once for all metrics: there may be tens of thousands of these. */
  async #measured(name: string, namespace: string, pods: readonly IndexedPod[]): Promise<Measured> {
    const failed = `failed to get ${name} utilization: unable to get metrics for resource ${name}`;
    if (!this.context.podUsage) return `${failed}: no node agent reports them`;
    try {
      return await givenInSlices(measuredPods(name, pods, await this.context.podUsage(namespace)));
    } catch (error) {
      return (error as Error).message;
    }
  }

  #warn(autoscaler: HorizontalPodAutoscalerV2, reason: string, message: string): void {
    this.recorder.warning(subject(autoscaler), reason, message);
  }
}

/** The resources whose usage is known. */
const resources = ['cpu', 'memory'];

/** Why a metric says nothing, or what it is worked out from. */
type Measured = readonly MeasuredPod[] | string;

/** Steps that a byte of a pod takes to read, and a pod to count (`time-slices.ts`). */
const byteSteps = 2;
const countSteps = 10;

const resourceOf = ({ type, resource }: MetricSpec): string | undefined =>
  type === 'Resource' ? resource?.name : undefined;

function* measuredPods(
  name: string,
  pods: readonly IndexedPod[],
  usage: Awaited<ReturnType<NonNullable<SharedContext['podUsage']>>>,
): Generator<number, MeasuredPod[]> {
  const measured: MeasuredPod[] = [];
  for (const pod of pods) {
    const used = usage.get(pod.name);
    measured.push({
      name: pod.name,
      ready: pod.ready,
      request: requestOf(pod.entry.peek() as Pod, name),
      usage: used && (name === 'cpu' ? used.milliCpu : used.memoryBytes),
    });
    yield pod.entry.length * byteSteps;
  }
  return measured;
}

interface BestProposal {
  readonly replicas?: number;
  readonly name: string;
  readonly metrics: MetricStatus[];
  readonly error?: string;
}

/** The highest number of replicas that any metric proposes. */
function* proposed(
  wanted: readonly MetricSpec[],
  known: ReadonlyMap<string, Measured>,
  current: number,
): Generator<number, BestProposal> {
  const metrics: MetricStatus[] = [];
  let best: { replicas: number; name: string } | undefined;
  let error: string | undefined;
  for (const metric of wanted) {
    const measured = known.get(resourceOf(metric) ?? '');
    yield countSteps * (1 + (measured?.length ?? 0));
    try {
      if (measured === undefined)
        throw new Error(`metrics of type ${JSON.stringify(metric.type)} are not known to this cluster`);
      if (typeof measured === 'string') throw new Error(measured);
      const { proposal, name, status } = proposedBy(metric, measured, current);
      metrics.push(status);
      if (!best || proposal.replicas > best.replicas) best = { replicas: proposal.replicas, name };
    } catch (failure) {
      error ??= (failure as Error).message;
    }
  }
  return { ...best, name: best?.name ?? '', metrics, ...(error === undefined ? {} : { error }) };
}

function proposedBy(
  { resource }: MetricSpec,
  measured: readonly MeasuredPod[],
  current: number,
): { proposal: Proposal; name: string; status: MetricStatus } {
  const { name = '', target = {} } = resource!;
  const wanted: ScalingTarget =
    target.averageUtilization === undefined
      ? { average: amount(name, target.averageValue ?? '0') }
      : { utilization: target.averageUtilization };
  let proposal: Proposal;
  try {
    proposal = propose(current, wanted, measured);
  } catch (error) {
    const failed = `failed to get ${name} utilization: unable to get metrics for resource ${name}`;
    throw new Error(`${failed}: ${(error as Error).message}`);
  }
  const averageValue =
    name === 'cpu' ? `${Math.round(proposal.average)}m` : String(Math.round(proposal.average));
  const text =
    'utilization' in wanted ? `${name} resource utilization (percentage of request)` : `${name} resource`;
  const now = {
    averageValue,
    ...(proposal.utilization === undefined ? {} : { averageUtilization: proposal.utilization }),
  };
  return { proposal, name: text, status: { type: 'Resource', resource: { name, current: now } } };
}

const condition = (
  type: string,
  holds: boolean,
  reason: string,
  message: string,
): HorizontalPodAutoscalerCondition => ({ type, status: holds ? 'True' : 'False', reason, message });

const amount = (resource: string, text: string): number =>
  resource === 'cpu' ? milliValue(parseQuantity(text)) : toNumber(parseQuantity(text));

/** The requests of a pod; undefined when one of its containers has none. */
function requestOf({ spec }: Pod, resource: string): number | undefined {
  let sum = 0;
  for (const { resources } of spec?.containers ?? []) {
    const text = resources?.requests?.[resource];
    if (text === undefined) return undefined;
    sum += amount(resource, text);
  }
  return sum;
}

/** ReplicationControllers have a map of labels as selector, all other kinds a LabelSelector. */
function selectorOf(entry: Entry): LabelSelector {
  const { selector = {} } = (entry.peek() as { spec?: { selector?: object } }).spec ?? {};
  return selectorFromObject(entry.kind.group === '' ? { matchLabels: selector as Labels } : selector);
}

const subject = ({ metadata }: HorizontalPodAutoscalerV2) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata,
});
