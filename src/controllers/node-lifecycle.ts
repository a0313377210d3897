/**
 * The node lifecycle controller: sets conditions of nodes that no longer report, taints nodes by their conditions,
 * and evicts pods that do not tolerate a taint.
 *
 * A node that is not ready gets a NoSchedule taint at once. The NoExecute taint, which evicts its pods, it gets when its
 * zone allows it (see `node-zones.ts`): one node after the other, and no node as long as all nodes are lost.
 */
import type { Lease, Node, Pod, Taint } from '../api/generated/types.ts';
import { timeToMs } from '../api/values/time.ts';
import type { EventRecorder } from '../client/events.ts';
import type { Registry } from '../registry/registry.ts';
import { targetOf } from '../registry/target.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import {
  conditionOf,
  firstGraceShare,
  isGivenUp,
  leaseNamespace,
  neverUpdated,
  sameTaints,
  silentConditions,
  taintsFor,
} from './node-marks.ts';
import { NodeZones } from './node-zones.ts';
import {
  type Controller,
  ifUnchanged,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { recorderFor } from './shared/event-sink.ts';
import { WorkQueue } from './shared/work-queue.ts';
import { TaintEvictions } from './taint-evictions.ts';

/** The queue key for tainting lost nodes; no node has this name. */
const givingUp = '';
/**
 * Shares of a node's grace period: within the first a node counts as alive; the second is how soon it is checked again.
 */
const aliveShare = 0.5;
const againShare = 0.1;

export const nodeLifecycleController: Controller = {
  name: 'node',
  writer: 'node-controller',
  start: (context) => new NodeLifecycle(context).start(),
};

class NodeLifecycle {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  /** The last report of each node, and when this controller saw it, on its own clock. */
  readonly #heard = new Map<string, { readonly said: string; atMs: number }>();
  readonly #registered = new Set<string>();
  readonly #zones: NodeZones;
  /** Nodes that are to get a NoExecute taint, in the order in which they were lost. */
  readonly #lost = new Set<string>();
  #allLost = false;

  constructor(private readonly context: SharedContext) {
    this.#registry = context.registry;
    this.#zones = new NodeZones(context.settings);
    this.#recorder = recorderFor(context, 'node-controller');
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => (name === givingUp ? this.#giveUp() : this.#look(name)),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const evictions = new TaintEvictions(this.context).start();
    const observations = [
      observe(this.context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observe(this.context, 'coordination.k8s.io/leases', (entry) => {
        if (entry?.namespace === leaseNamespace) this.#queue.add(entry.name);
      }),
    ];
    return running(observations, [evictions, this.#queue], this.#recorder);
  }

  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { name } = (entry ?? previous)!;
    const node = (entry ?? previous)!.peek() as Node;
    if (entry) this.#zones.set(node);
    else this.#zones.remove(name);
    this.#followZones();
    if (entry) {
      if (!this.#registered.has(name)) {
        this.#registered.add(name);
        this.#tell(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`);
      }
      this.#queue.add(name);
      return;
    }
    this.#registered.delete(name);
    this.#heard.delete(name);
    this.#lost.delete(name);
    this.#tell(node, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`);
  }

  /** Processes all nodes again when the state of a zone has changed: they may get or lose their NoExecute taints. */
  #followZones(): void {
    if (!this.#zones.hasChanged) return;
    const { allLost } = this.#zones;
    const nowMs = this.#registry.sources.nowMs();
    // After all nodes were silent, each gets its full grace period again.
    if (this.#allLost && !allLost) for (const heard of this.#heard.values()) heard.atMs = nowMs;
    this.#allLost = allLost;
    for (const name of this.#registered) this.#queue.add(name);
  }

  #tell(node: Node, reason: string, message: string): void {
    this.#recorder.normal({ apiVersion: 'v1', kind: 'Node', metadata: node.metadata }, reason, message);
  }

  async #look(name: string): Promise<void> {
    const entry = this.#registry.view.collection('core/nodes').get('', name);
    if (!entry) return;
    const node = entry.peek() as Node;
    const patienceMs = this.#patienceMs(node);
    if (patienceMs <= 0) await this.#markSilent(node);
    else this.#queue.addAfter(name, patienceMs);
    await this.#taint(name);
    const now = this.#nodeNamed(name);
    if (!now || conditionOf(now, 'Ready')?.status === 'True') return void this.#lost.delete(name);
    if (conditionOf(now, 'Ready') && !isGivenUp(now)) {
      this.#lost.add(name);
      this.#queue.add(givingUp);
    }
    await this.#podsNotReady(now);
  }

  /** Gives lost nodes their NoExecute taint, as far as their zones allow it now. */
  async #giveUp(): Promise<void> {
    if (!this.#lost.size || this.#zones.allLost) return;
    const { nodeGraceMs } = this.context.settings;
    const hasSpoken = (name: string): boolean => {
      const node = this.#nodeNamed(name);
      if (!node || conditionOf(node, 'Ready')?.status !== 'True') return false;
      return this.#silentMs(node) < nodeGraceMs * aliveShare;
    };
    // If no node has reported for a while, all may have become unreachable together, as when this server is cut off: do
    // not taint the first ones before the state of the others is known.
    if (![...this.#registered].some(hasSpoken))
      return this.#queue.addAfter(givingUp, nodeGraceMs * againShare);
    const nowMs = this.#registry.sources.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const name of [...this.#lost]) {
      const waitMs = this.#zones.take(name, nowMs);
      nextMs = Math.min(nextMs, waitMs || nextMs);
      if (waitMs > 0) continue;
      await this.#taint(name, true);
      this.#lost.delete(name);
    }
    this.#queue.addAfter(givingUp, nextMs);
  }

  #nodeNamed(name: string): Node | undefined {
    return this.#registry.view.collection('core/nodes').get('', name)?.peek() as Node | undefined;
  }

  /** How long a node may remain silent. */
  #patienceMs(node: Node): number {
    const { nodeGraceMs } = this.context.settings;
    const graceMs = conditionOf(node, 'Ready') ? nodeGraceMs : nodeGraceMs * firstGraceShare;
    return graceMs - this.#silentMs(node);
  }

  /** Time since the last sign of life: a renewed lease or a newer heartbeat. */
  #silentMs(node: Node): number {
    const nowMs = this.#registry.sources.nowMs();
    const name = node.metadata.name!;
    const lease = this.#registry.view
      .collection('coordination.k8s.io/leases')
      .get(leaseNamespace, name)
      ?.peek() as Lease | undefined;
    const beats = (node.status?.conditions ?? [])
      .filter(({ reason }) => reason !== 'NodeStatusUnknown' && reason !== neverUpdated)
      .map(({ lastHeartbeatTime }) => lastHeartbeatTime);
    const said = JSON.stringify([lease?.spec?.renewTime, lease?.spec?.holderIdentity, beats]);
    const heard = this.#heard.get(name);
    if (heard?.said === said) return nowMs - heard.atMs;
    // Reports from before the start of this controller count from their own time.
    const spokenMs = heard
      ? nowMs
      : Math.max(
          ...[node.metadata.creationTimestamp, lease?.spec?.renewTime, ...beats].map((time) =>
            time ? timeToMs(time) : 0,
          ),
        );
    const atMs = Math.min(spokenMs, nowMs);
    this.#heard.set(name, { said, atMs });
    return nowMs - atMs;
  }

  async #markSilent(node: Node): Promise<void> {
    const wasReady = conditionOf(node, 'Ready')?.status === 'True';
    const now = this.#registry.now();
    await this.#modifyNode(node.metadata.name!, 'status', (current) => {
      const status = (current.status ??= {});
      status.conditions = silentConditions(current, now);
      return current;
    });
    if (wasReady) this.#tell(node, 'NodeNotReady', `Node ${node.metadata.name} status is now: NodeNotReady`);
  }

  /** @param givesUp whether the node gets the taint that evicts its pods, if it is not ready */
  async #taint(name: string, givesUp = false): Promise<void> {
    const now = this.#registry.now();
    const node = this.#nodeNamed(name);
    const taints = (of: Node): Taint[] =>
      taintsFor(of, now, !this.#zones.allLost && (givesUp || isGivenUp(of)));
    if (!node || sameTaints(node, taints(node))) return;
    await this.#modifyNode(name, 'main', (current) => {
      const spec = (current.spec ??= {});
      spec.taints = taints(current);
      if (spec.taints.length === 0) delete spec.taints;
      return current;
    });
  }

  async #modifyNode(name: string, part: 'main' | 'status', change: (node: Node) => Node): Promise<void> {
    const kind = this.#registry.kinds.resource('v1', 'nodes')!;
    await ifUnchanged(
      modify(
        this.context.writing,
        this.context.request('update'),
        { kind, namespace: '', name, part },
        (current) => change(current.object() as Node),
      ),
    );
  }

  /** Sets the pods of a node that is not ready to not ready, too. */
  async #podsNotReady(node: Node): Promise<void> {
    for (const { entry, ready } of this.context.pods.onNode(node.metadata.name!)) {
      if (!ready) continue;
      const pod = entry.peek() as Pod;
      const now = this.#registry.now();
      await ifUnchanged(
        modify(this.context.writing, this.context.request('update'), targetOf(entry, 'status'), (current) => {
          const object = current.object() as Pod;
          for (const condition of object.status?.conditions ?? [])
            if (condition.type === 'Ready' && condition.status === 'True')
              Object.assign(condition, { status: 'False', lastTransitionTime: now });
          return object;
        }),
      );
      this.#recorder.warning(
        { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata },
        'NodeNotReady',
        'Node is not ready',
      );
    }
  }
}
