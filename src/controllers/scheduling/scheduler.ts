/**
 * The scheduler: assigns waiting pods to nodes. One pod at a time is checked against all nodes, and counts as placed
 * from then on, while its binding is still being written. For a pod that fits nowhere, pods of lower priority may have
 * to leave a node (`preemption.ts`); it is nominated to that node, and bound when they are gone.
 */
import { hostname } from 'node:os';
import { StatusError } from '../../api/errors/errors.ts';
import type { Binding, Node, Pod, PodCondition, PodStatus, Service } from '../../api/generated/types.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { targetOf } from '../../registry/target.ts';
import { bind } from '../../registry/verbs/binding.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  ifUnchanged,
  observe,
  type RunningController,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { mapSelector, Selectors } from '../shared/selectors.ts';
import { violatingBudgets } from './budgets.ts';
import { ClusterFacts } from './cluster-facts.ts';
import { type NodeRefusal, refusalOf, refusalText, type Wish } from './filters.ts';
import type { NodeFacts } from './node-facts.ts';
import { Nominations } from './nominations.ts';
import { PodAffinity } from './pod-affinity.ts';
import { type PodFacts, podFacts, preemptionReason } from './pod-facts.ts';
import { ineligibility, preemptionFor } from './preemption.ts';
import { SchedulingQueue } from './scheduling-queue.ts';
import { bestOf } from './scores.ts';
import { type Kin, TopologySpread } from './topology-spread.ts';
import { VolumeBinding, VolumeBindingError } from './volume-binding.ts';
import type { VolumePlan } from './volume-reach.ts';

const schedulerName = 'default-scheduler';
/** The `action` of events. */
const actions = { Scheduled: 'Binding', FailedScheduling: 'Scheduling', Preempted: 'Preempting' };
/** Concurrent bindings: they share commits. */
const bindingsMax = 128;
/** Pods scheduled per event loop tick; fewer when they take longer than this: rules of pods can be very long. */
const turnPods = 20;
const turnMaxMs = 3;
/** In a large cluster the search stops at this many suitable nodes; the next one goes on behind them. */
const choiceMax = 100;
const messageCharactersMax = 1024;

export const schedulerController: Controller = {
  name: 'scheduler',
  writer: 'kube-scheduler',
  start: (context) => new Scheduler(context),
};

class Scheduler implements RunningController {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #cluster = new ClusterFacts();
  readonly #queue: SchedulingQueue;
  readonly #nominations = new Nominations();
  readonly #volumes: VolumeBinding;
  /** Read when they change: those of a tenant may be long, and are asked for with every try of every pod. */
  readonly #services = new Selectors<Service>(({ spec }) => mapSelector(spec?.selector));
  readonly #observers: { close(): void }[];
  readonly #underWay = new Set<Promise<void>>();
  #binding = 0;
  #scheduled = false;
  #closed = false;
  /** Where the search for nodes starts, so that all nodes of a large cluster are used. */
  #offset = 0;

  constructor(private readonly context: SharedContext) {
    this.#registry = context.registry;
    this.#recorder = recorderFor(context, schedulerName, { host: hostname(), actions });
    this.#queue = new SchedulingQueue(
      () => this.#registry.sources.nowMs(),
      () => this.#wake(),
      this.#registry.timers,
    );
    this.#volumes = new VolumeBinding(context);
    const helps = (): void => this.#queue.clusterChanged();
    this.#observers = [
      observe(context, 'core/services', (entry, previous) => this.#services.observe(entry, previous)),
      observe(context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observe(context, 'core/pods', (entry, previous) => this.#podChanged(entry, previous)),
      observe(context, 'core/persistentvolumeclaims', (entry, previous) => {
        this.#volumes.claimChanged((entry ?? previous)!);
        helps();
      }),
      observe(context, 'core/persistentvolumes', (entry, previous) => {
        this.#volumes.volumeChanged((entry ?? previous)!);
        helps();
      }),
      observe(context, 'storage.k8s.io/storageclasses', helps),
      observe(context, 'storage.k8s.io/csidrivers', helps),
      observe(context, 'storage.k8s.io/csistoragecapacities', helps),
    ];
  }

  get settled(): boolean {
    return this.#queue.empty && this.#underWay.size === 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const observer of this.#observers) observer.close();
    this.#volumes.close();
    this.#queue.close();
    await Promise.all(this.#underWay);
    await this.#recorder.flushed();
  }

  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const node = entry?.peek() as Node | undefined;
    if (this.#cluster.describeNode((entry ?? previous)!.name, node)) this.#queue.clusterChanged();
  }

  #podChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const pod = podFacts((entry ?? previous)!.peek() as Pod);
    if (!entry || pod.finished || pod.nodeName || pod.deleting) this.#nominations.delete(pod.uid);
    else if (pod.nominatedNodeName || !this.#nominations.none)
      this.#nominations.observe(pod, (previous?.peek() as Pod | undefined)?.status?.nominatedNodeName);
    if (!entry || pod.finished) {
      this.#queue.forget(pod.uid);
      this.#volumes.forget(pod.uid);
      if (this.#cluster.displace(pod.uid)) this.#queue.clusterChanged();
    } else if (pod.nodeName) {
      this.#queue.forget(pod.uid);
      this.#volumes.forget(pod.uid);
      this.#cluster.place(pod, pod.nodeName);
      this.#queue.podPlaced();
    } else if (pod.deleting || pod.gated || pod.schedulerName !== schedulerName) this.#queue.forget(pod.uid);
    // A pod whose binding is being written is in the cache already.
    else if (!this.#cluster.nodeOf(pod.uid)) this.#queue.offer(pod);
  }

  #wake(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    const begunMs = performance.now();
    for (let i = 0; i < turnPods && this.#binding < bindingsMax && !this.#closed; i++) {
      if (performance.now() - begunMs > turnMaxMs) break;
      const pod = this.#queue.next();
      if (!pod) return;
      try {
        this.#schedule(pod);
      } catch (error) {
        this.context.onError(error as Error);
        this.#queue.failed(pod, true);
      }
    }
    if (!this.#queue.empty && this.#binding < bindingsMax) this.#wake();
  }

  #schedule(pod: PodFacts): void {
    const reach = this.#volumes.reach(pod);
    const { nodes } = this.#cluster;
    if (reach.nowhere !== undefined) {
      // As in Kubernetes: there is no node where preemption could help.
      const text = `0/${nodes.length} nodes are available: ${reach.nowhere}. not found`;
      return this.#refuse(pod, nodes.length ? text : refusalText(0, []));
    }
    const wish = this.#wish(pod, reach.failure);
    const refusals = new Map<NodeFacts, NodeRefusal>();
    const node = this.#nominatedFor(wish) ?? this.#choose(wish, nodes, refusals);
    if (!node) return this.#preempt(wish, refusals);
    this.#nominations.delete(pod.uid);
    this.#cluster.place(pod, node.name);
    const plan = reach.plan(node);
    this.#track(plan ? this.#bindWithVolumes(pod, node, plan) : this.#bind(pod, node.name));
  }

  async #bindWithVolumes(pod: PodFacts, node: NodeFacts, plan: VolumePlan): Promise<void> {
    // Other pods see the plan from this call on.
    const binding = this.#volumes.bind(pod, node, plan);
    const [bound] = await Promise.allSettled([binding, this.#nominate(pod, node.name)]);
    if (bound.status === 'rejected') return this.#volumesFailed(pod, bound.reason as Error);
    await this.#bind(pod, node.name);
  }

  #volumesFailed(pod: PodFacts, error: Error): void {
    this.#cluster.displace(pod.uid);
    if (this.#closed) return;
    const entry = this.#registry.view.collection('core/pods').get(pod.namespace, pod.name);
    const current = entry && podFacts(entry.peek() as Pod);
    // The pod is gone, was replaced, or has got a node from another scheduler.
    if (current?.uid !== pod.uid || current.nodeName || current.deleting) return this.#lookAgain(pod);
    if (!(error instanceof VolumeBindingError)) this.context.onError(error);
    const text = `running PreBind plugin "VolumeBinding": binding volumes: ${error.message}`;
    this.#refuse(pod, text, undefined, 'SchedulerError');
  }

  #wish(pod: PodFacts, volumes: Wish['volumes']): Wish {
    return {
      pod,
      affinity: PodAffinity.of(pod, this.#cluster, (namespace) => this.#namespaceLabels(namespace)),
      spread: new TopologySpread(pod, this.#cluster, this.#kinOf(pod)),
      volumes,
    };
  }

  #choose(
    wish: Wish,
    nodes: readonly NodeFacts[],
    refusals: Map<NodeFacts, NodeRefusal>,
  ): NodeFacts | undefined {
    const fitting = this.#fitting(wish, nodes, refusals);
    return fitting.length
      ? bestOf(wish, fitting, (bound) => this.#registry.sources.randomBelow(bound))
      : undefined;
  }

  /** The node that the pod is nominated to, if it fits there. */
  #nominatedFor(wish: Wish): NodeFacts | undefined {
    const name = this.#nominations.nodeOf(wish.pod.uid);
    const node = name === undefined ? undefined : this.#cluster.node(name);
    return node && !this.#refusal(wish, node) ? node : undefined;
  }

  /**
   * Why a pod does not fit. It must fit both with the pods nominated to the node and without them, since they may go
   * elsewhere.
   */
  #refusal(wish: Wish, node: NodeFacts): NodeRefusal | undefined {
    const alone = refusalOf(wish, node);
    if (alone || this.#nominations.none) return alone;
    const rivals = this.#nominations
      .rivalsOf(wish.pod, node.name)
      .filter(({ uid }) => !this.#cluster.nodeOf(uid));
    if (!rivals.length) return undefined;
    for (const rival of rivals) this.#cluster.place(rival, node.name);
    try {
      return refusalOf(this.#wish(wish.pod, wish.volumes), node);
    } finally {
      for (const { uid } of rivals) this.#cluster.displace(uid);
    }
  }

  /** Makes room for a pod that fits nowhere, or records why that is not possible. */
  #preempt(wish: Wish, refusals: ReadonlyMap<NodeFacts, NodeRefusal>): void {
    const { pod } = wish;
    const { nodes } = this.#cluster;
    const text = (preemption?: string): string =>
      refusalText(nodes.length, [...refusals.values()], preemption);
    const before = this.#nominations.nodeOf(pod.uid);
    const ineligible = ineligibility(pod, before === undefined ? undefined : this.#cluster.node(before));
    if (ineligible !== undefined) return this.#refuse(pod, text(ineligible), before);
    // Rules that depend on other pods must be evaluated again for each trial.
    const depends = pod.affinity?.podAffinity || pod.affinity?.podAntiAffinity || pod.spread.length;
    const lasting = !depends && this.#cluster.choosy.size === 0;
    const hopeful = [...refusals].filter(([, { hopeless }]) => !hopeless).map(([node]) => node);
    const candidate = preemptionFor(pod, hopeful, {
      cluster: this.#cluster,
      fits: (_, node) => !this.#refusal(lasting ? wish : this.#wish(pod, wish.volumes), node),
      violating: (pods) => violatingBudgets(this.#registry, pods),
    });
    if (!candidate) {
      this.#nominations.delete(pod.uid);
      return this.#refuse(pod, text());
    }
    const { node, victims } = candidate;
    for (const weaker of this.#nominations.weakerThan(pod, node.name)) {
      this.#nominations.delete(weaker.uid);
      this.#track(this.#nominate(weaker, undefined));
    }
    this.#nominations.set(pod, node.name);
    this.#refuse(pod, text('nominated'), node.name);
    this.#track(this.#remove(pod, node.name, victims));
  }

  async #remove(pod: PodFacts, nodeName: string, victims: readonly PodFacts[]): Promise<void> {
    const results = await Promise.allSettled(victims.map((victim) => this.#evict(pod, nodeName, victim)));
    const failed = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (!failed) return;
    this.#queue.clusterChanged();
    throw failed.reason;
  }

  async #evict({ uid: by }: PodFacts, nodeName: string, victim: PodFacts): Promise<void> {
    const { namespace, name, uid } = victim;
    const entry = this.#registry.view.collection('core/pods').get(namespace, name);
    if (entry?.uid !== uid || victim.deleting) return;
    const message = 'default-scheduler: preempting to accommodate a higher priority pod';
    const target = { type: 'DisruptionTarget', status: 'True', reason: preemptionReason, message };
    await this.#changeStatus(victim, (status) => {
      status.conditions = withCondition(status.conditions, target, this.#registry.now());
    });
    const request = this.context.request('delete');
    await ifUnchanged(remove(this.context.writing, request, targetOf(entry), { preconditions: { uid } }));
    this.#recorder.normal(subject(victim), 'Preempted', `Preempted by pod ${by} on node ${nodeName}`);
  }

  /** Suitable nodes: all of a small cluster, enough of a large one. */
  #fitting(wish: Wish, nodes: readonly NodeFacts[], refusals: Map<NodeFacts, NodeRefusal>): NodeFacts[] {
    const fitting: NodeFacts[] = [];
    let seen = 0;
    for (; seen < nodes.length && fitting.length < choiceMax; seen++) {
      const node = nodes[(this.#offset + seen) % nodes.length]!;
      const refusal = this.#refusal(wish, node);
      if (refusal) refusals.set(node, refusal);
      else fitting.push(node);
    }
    this.#offset = nodes.length ? (this.#offset + seen) % nodes.length : 0;
    return fitting;
  }

  /** Pods to spread: those of the same controller, or of the same service. */
  #kinOf(pod: PodFacts): Kin | undefined {
    const { ownerUid, namespace } = pod;
    if (ownerUid) return { ownerUid };
    const services = this.#services.matching(namespace, pod.labels);
    if (services.length === 0) return undefined;
    return (other) =>
      other.namespace === namespace && services.some(([, selector]) => selector.matches(other.labels));
  }

  #namespaceLabels(namespace: string): Readonly<Record<string, string>> {
    return this.#registry.view.collection('core/namespaces').get('', namespace)?.labels ?? {};
  }

  async #bind(pod: PodFacts, nodeName: string): Promise<void> {
    this.#binding++;
    const kind = this.#registry.kinds.resource('v1', 'pods')!;
    const { namespace, name, uid } = pod;
    const binding: Binding = {
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: nodeName },
    };
    try {
      const target = targetOf({ kind, namespace, name }, 'binding');
      await bind(this.context.writing, this.context.request('create'), target, binding);
      this.#recorder.normal(
        subject(pod),
        'Scheduled',
        `Successfully assigned ${pod.namespace}/${pod.name} to ${nodeName}`,
      );
    } catch (error) {
      this.#cluster.displace(pod.uid);
      const known = error instanceof StatusError && [404, 409].includes(error.code);
      if (!known) {
        this.context.onError(error as Error);
        this.#queue.failed(pod, true);
      }
      // Another writer was faster: the pod's change has been, or will be, observed.
      else this.#lookAgain(pod);
    } finally {
      this.#binding--;
      if (!this.#queue.empty) this.#wake();
    }
  }

  #lookAgain({ namespace, name }: PodFacts): void {
    const entry = this.#registry.view.collection('core/pods').get(namespace, name);
    if (entry) this.#podChanged(entry, undefined);
  }

  /**
   * Records on the pod, and in an event, why it is not scheduled (its requirements, or an error that may pass), and
   * which node it waits for.
   */
  #refuse(
    pod: PodFacts,
    text: string,
    nominated?: string,
    reason: 'Unschedulable' | 'SchedulerError' = 'Unschedulable',
  ): void {
    const message =
      text.length > messageCharactersMax ? `${text.slice(0, messageCharactersMax - 3)}...` : text;
    this.#queue.failed(pod, reason === 'SchedulerError');
    this.#recorder.warning(subject(pod), 'FailedScheduling', message);
    this.#track(this.#nominate(pod, nominated, { type: 'PodScheduled', status: 'False', reason, message }));
  }

  /** Writes to a pod's status which node it is nominated to, and why it is not scheduled yet. */
  async #nominate(pod: PodFacts, nodeName: string | undefined, why?: PodCondition): Promise<void> {
    await this.#changeStatus(pod, (status, { spec }) => {
      if (spec?.nodeName) return;
      if (nodeName === undefined) delete status.nominatedNodeName;
      else status.nominatedNodeName = nodeName;
      if (why) status.conditions = withCondition(status.conditions, why, this.#registry.now());
    });
  }

  async #changeStatus(
    { uid, namespace, name }: PodFacts,
    change: (status: PodStatus, pod: Pod) => void,
  ): Promise<void> {
    const kind = this.#registry.kinds.resource('v1', 'pods')!;
    const target = targetOf({ kind, namespace, name }, 'status');
    await ifUnchanged(
      modify(this.context.writing, this.context.request('update'), target, (current) => {
        const object = current.object() as Pod;
        if (object.metadata.uid === uid) change((object.status ??= {}), object);
        return object;
      }),
    );
  }

  #track(work: Promise<void>): void {
    const settled = work.catch(this.context.onError).finally(() => this.#underWay.delete(settled));
    this.#underWay.add(settled);
  }
}

const subject = ({ namespace, name, uid }: PodFacts) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, uid },
});
