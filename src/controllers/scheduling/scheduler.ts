/**
 * The scheduler: assigns waiting pods to nodes. One pod at a time is checked against all nodes, and counts as placed
 * from then on, while its binding is still being written.
 */
import { hostname } from 'node:os';
import { StatusError } from '../../api/errors.ts';
import type { Binding, Node, Pod, Service } from '../../api/generated/types.ts';
import { withCondition } from '../../api/rules/condition.ts';
import type { EventRecorder } from '../../client/events.ts';
import { bind } from '../../registry/binding.ts';
import type { Entry } from '../../registry/entry.ts';
import { Filter } from '../../registry/filter.ts';
import { modify } from '../../registry/modify.ts';
import type { Registry } from '../../registry/registry.ts';
import { targetOf } from '../../registry/target.ts';
import {
  type Controller,
  observe,
  type RunningController,
  type SharedContext,
  tolerant,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/eventsink.ts';
import { ClusterFacts } from './clusterfacts.ts';
import { type NodeRefusal, refusalOf, refusalText, type Wish } from './filters.ts';
import type { NodeFacts } from './nodefacts.ts';
import { PodAffinity } from './podaffinity.ts';
import { type PodFacts, podFacts } from './podfacts.ts';
import { SchedulingQueue } from './schedulingqueue.ts';
import { bestOf } from './scores.ts';
import { type Kin, TopologySpread } from './topologyspread.ts';
import { volumeReach } from './volumereach.ts';

const schedulerName = 'default-scheduler';
/** The `action` of events. */
const actions = { Scheduled: 'Binding', FailedScheduling: 'Scheduling' };
/** Concurrent bindings: they share commits. */
const bindingsMax = 128;
/** Pods scheduled per event loop tick. */
const turnPods = 20;
/** In a large cluster the search stops at this many suitable nodes. */
const choiceMin = 100;
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
      () => this.#registry.chance.nowMs(),
      () => this.#wake(),
    );
    const helps = (): void => this.#queue.clusterChanged();
    this.#observers = [
      observe(context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observe(context, 'core/pods', (entry, previous) => this.#podChanged(entry, previous)),
      observe(context, 'core/persistentvolumeclaims', helps),
      observe(context, 'core/persistentvolumes', helps),
    ];
  }

  get settled(): boolean {
    return this.#queue.empty && this.#underWay.size === 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const observer of this.#observers) observer.close();
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
    if (!entry || pod.finished) {
      this.#queue.forget(pod.uid);
      if (this.#cluster.displace(pod.uid)) this.#queue.clusterChanged();
    } else if (pod.nodeName) {
      this.#queue.forget(pod.uid);
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
    for (let i = 0; i < turnPods && this.#binding < bindingsMax && !this.#closed; i++) {
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
    const reach = volumeReach(this.#registry, pod);
    const { nodes } = this.#cluster;
    if (reach.nowhere !== undefined) {
      const none = `0/${nodes.length} nodes are available`;
      const text = `${none}: ${reach.nowhere}. preemption: ${none}: ${nodes.length} Preemption is not helpful for scheduling.`;
      return this.#refuse(pod, nodes.length ? text : refusalText(0, []));
    }
    const wish: Wish = {
      pod,
      affinity: PodAffinity.of(pod, this.#cluster, (namespace) => this.#namespaceLabels(namespace)),
      spread: new TopologySpread(pod, this.#cluster, this.#kinOf(pod)),
      volumes: reach.failure,
    };
    const refusals: NodeRefusal[] = [];
    const fitting = this.#fitting(wish, nodes, refusals);
    if (fitting.length === 0) return this.#refuse(pod, refusalText(nodes.length, refusals));
    const node = bestOf(wish, fitting, (bound) => this.#registry.chance.randomBelow(bound));
    this.#cluster.place(pod, node.name);
    this.#binding++;
    this.#track(this.#bind(pod, node.name));
  }

  /** Suitable nodes: all of a small cluster, enough of a large one. */
  #fitting(wish: Wish, nodes: readonly NodeFacts[], refusals: NodeRefusal[]): NodeFacts[] {
    const enough = Math.max(
      choiceMin,
      Math.ceil((nodes.length * Math.max(5, 50 - nodes.length / 125)) / 100),
    );
    const fitting: NodeFacts[] = [];
    let seen = 0;
    for (; seen < nodes.length && fitting.length < enough; seen++) {
      const node = nodes[(this.#offset + seen) % nodes.length]!;
      const refusal = refusalOf(wish, node);
      if (refusal) refusals.push(refusal);
      else fitting.push(node);
    }
    this.#offset = nodes.length ? (this.#offset + seen) % nodes.length : 0;
    return fitting;
  }

  /** Pods to spread: those of the same controller, or of the same service. */
  #kinOf(pod: PodFacts): Kin | undefined {
    const { ownerUid, namespace } = pod;
    if (ownerUid) return { ownerUid };
    const services = this.#registry.view
      .collection('core/services')
      .select(new Filter(namespace, undefined, undefined, undefined))
      .entries.map((entry) => Object.entries((entry.peek() as Service).spec?.selector ?? {}))
      .filter((pairs) => pairs.length > 0 && pairs.every(([key, value]) => pod.labels[key] === value));
    if (services.length === 0) return undefined;
    return (other) =>
      other.namespace === namespace &&
      services.some((pairs) => pairs.every(([key, value]) => other.labels[key] === value));
  }

  #namespaceLabels(namespace: string): Readonly<Record<string, string>> {
    return this.#registry.view.collection('core/namespaces').get('', namespace)?.labels ?? {};
  }

  async #bind(pod: PodFacts, nodeName: string): Promise<void> {
    const kind = this.#registry.kinds.resource('v1', 'pods')!;
    const { namespace, name, uid } = pod;
    const binding: Binding = {
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: nodeName },
    };
    try {
      const target = targetOf({ kind, namespace, name }, 'binding');
      await bind(this.#registry, this.context.request('create'), target, binding);
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

  /** Records on the pod, and in an event, why it is unschedulable. */
  #refuse(pod: PodFacts, reason: string): void {
    const message =
      reason.length > messageCharactersMax ? `${reason.slice(0, messageCharactersMax - 3)}...` : reason;
    this.#queue.failed(pod, false);
    this.#recorder.warning(subject(pod), 'FailedScheduling', message);
    this.#track(this.#say(pod, message));
  }

  async #say(pod: PodFacts, message: string): Promise<void> {
    const kind = this.#registry.kinds.resource('v1', 'pods')!;
    const say = (current: Entry) => {
      const object = current.object() as Pod;
      if (object.metadata.uid !== pod.uid || object.spec?.nodeName) return object;
      const status = (object.status ??= {});
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
      status.conditions = withCondition(status.conditions, condition, this.#registry.now());
      return object;
    };
    const { namespace, name } = pod;
    const target = targetOf({ kind, namespace, name }, 'status');
    await tolerant(modify(this.#registry, this.context.request('update'), target, say));
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
