/**
 * The daemon set controller: keeps one pod of a template on every suitable node, and replaces those of old templates
 * by the set's update strategy.
 */
import type { DaemonSet, DaemonSetStatus, Node, Pod } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
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
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { FailureBackoff } from '../shared/failure-backoff.ts';
import { type IndexedPod, nextAvailableInMs } from '../shared/indexed-pod.ts';
import { claimPods, refersTo } from '../shared/ownership.ts';
import { PodControl } from '../shared/pod-control.ts';
import { objectSelector, Selectors } from '../shared/selectors.ts';
import { slowStart } from '../shared/slow-start.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { DaemonPlacement, type PlaceableNode, targetNode } from './daemon-placement.ts';
import {
  type DaemonNode,
  type Moment,
  numbersOf,
  rollingUpdate,
  type Upkeep,
  upkeep,
  type Work,
} from './daemon-rollout.ts';
import { RevisionHistory, type RevisionList, revisionLabel } from './revision-history.ts';

/** Pods created, and pods deleted, per pass. */
const burstMax = 250;

export const daemonSetController: Controller = {
  name: 'daemonset',
  writer: 'daemon-set-controller',
  start: (context) => new DaemonSets(context).start(),
};

const selectorOf = ({ spec }: DaemonSet): LabelSelector | undefined => objectSelector(spec?.selector);

/** A daemon set in one pass. */
interface Look {
  readonly key: string;
  readonly entry: Entry;
  readonly set: DaemonSet;
  readonly selector: LabelSelector;
  readonly placement: DaemonPlacement;
  readonly history: RevisionList;
}

class DaemonSets {
  readonly #registry: Registry;
  readonly #kind: Kind;
  readonly #recorder: EventRecorder;
  readonly #control: PodControl;
  readonly #queue: WorkQueue;
  readonly #history: RevisionHistory;
  readonly #selectors = new Selectors(selectorOf);
  readonly #keys = new Set<string>();
  readonly #nodes = new Map<string, PlaceableNode>();
  /** Back-off of pods that fail on a node. */
  readonly #failures = new FailureBackoff();

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#kind = registry.kinds.resource('apps/v1', 'daemonsets')!;
    this.#recorder = recorderFor(context, 'daemonset-controller');
    this.#control = new PodControl(context, this.#recorder);
    this.#history = new RevisionHistory(context);
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Retry periodically: a quota may get room, or a missing account appear, without a change of the set.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observe(this.context, 'apps/daemonsets', (entry, previous) => this.#setChanged(entry, previous)),
      this.#history.observe(this.context, this.#kind, (key) => this.#queue.add(key)),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #setChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    const key = keyOf(namespace, name);
    this.#selectors.observe(entry, previous);
    if (entry) {
      this.#keys.add(key);
      this.#queue.add(key);
    } else {
      this.#keys.delete(key);
      this.#failures.forget(key);
    }
  }

  /** Called for changes of nodes. Nodes report often; only few changes affect where pods may run. */
  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { name } = (entry ?? previous)!;
    const before = this.#nodes.get(name);
    const now = entry && placeable(entry.peek() as Node);
    if (now) this.#nodes.set(name, now);
    else this.#nodes.delete(name);
    if (before && now && JSON.stringify(before) === JSON.stringify(now)) return;
    for (const key of this.#keys) this.#queue.add(key);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, controller } of [pod, previous].filter((one) => one !== undefined))
      if (refersTo(controller, this.#kind)) this.#queue.add(keyOf(namespace, controller?.name ?? ''));
    if (!pod || pod.controller || pod.marked) return;
    for (const name of this.#selectors.selecting(pod.namespace, pod.labels))
      this.#queue.add(keyOf(pod.namespace, name));
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const entry = this.#registry.view.collection('apps/daemonsets').get(...fromKey(key));
    if (!entry) return;
    const set = entry.peek() as DaemonSet;
    // The pods of a set that is being deleted are left to the garbage collector.
    if (set.metadata.deletionTimestamp) return;
    const selector = selectorOf(set);
    if (!selector) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#recorder.warning(set, 'SelectingAll', message);
      return;
    }
    try {
      const history = await this.#history.take(entry, set, selector);
      const placement = new DaemonPlacement(set.spec?.template?.spec);
      await this.#look({ key, entry, set, selector, placement, history });
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #look(look: Look): Promise<void> {
    const { key, entry, set, history } = look;
    const { nodes, failure } = await this.#act(look);
    const moment = this.#moment(look);
    await writeStatus(this.context, entry, statusOf(look, nodes, moment));
    const pods = nodes.flatMap((node) => node.pods);
    this.#queue.addAfter(key, nextAvailableInMs(pods, set.spec?.minReadySeconds, moment.nowMs));
    if (failure) throw failure;
    const hashes = new Set(pods.map(({ labels }) => labels?.[revisionLabel]));
    await this.#history.trim(
      history,
      set.spec?.revisionHistoryLimit,
      (revision) => revision === history.update || hashes.has(revision.hash),
    );
  }

  /** Creates and deletes pods; returns the resulting nodes. */
  async #act(look: Look): Promise<{ nodes: DaemonNode[]; failure: Error | undefined }> {
    const found = await this.#survey(look);
    const { create, remove, ended } = upkeep(found, this.#moment(look));
    const kept = await this.#carryOut(look, found, {
      create,
      remove: [...remove, ...this.#endable(look, ended)],
    });
    if (kept.failure || look.set.spec?.updateStrategy?.type !== 'RollingUpdate') return kept;
    return this.#carryOut(look, kept.nodes, rollingUpdate(kept.nodes, this.#moment(look)));
  }

  #moment({ set, history }: Look): Moment {
    return { hash: history.update.hash, spec: set.spec ?? {}, nowMs: this.#registry.sources.nowMs() };
  }

  /** All nodes with the set's pods, including pods of deleted nodes. */
  async #survey({ entry, set, selector, placement }: Look): Promise<DaemonNode[]> {
    const byNode = new Map<string, IndexedPod[]>();
    for (const pod of await claimPods(this.context, { entry, owner: set, selector })) {
      const name = targetNode(pod);
      if (name === undefined) continue;
      const pods = byNode.get(name);
      if (pods) pods.push(pod);
      else byNode.set(name, [pod]);
    }
    const nodes: DaemonNode[] = [];
    for (const node of this.#nodes.values()) {
      nodes.push({ name: node.name, known: true, ...placement.on(node), pods: byNode.get(node.name) ?? [] });
      byNode.delete(node.name);
    }
    for (const [name, pods] of byNode) nodes.push({ name, known: false, runs: false, stays: false, pods });
    return nodes;
  }

  /** Finished pods that may be deleted now. The others are retried after their back-off. */
  #endable({ key, set }: Look, ended: Upkeep['ended']): IndexedPod[] {
    const nowMs = this.#registry.sources.nowMs();
    return ended.flatMap(({ node, pod }) => {
      const who = `daemon pod ${keyOf(pod.namespace, pod.name)} on node ${node}`;
      if (pod.phase === 'Succeeded') {
        this.#recorder.normal(set, 'SucceededDaemonPod', `Found succeeded ${who}, will try to delete it`);
        return [pod];
      }
      const waitMs = this.#failures.waitMs(key, node, nowMs);
      if (waitMs > 0) {
        this.#queue.addAfter(key, waitMs);
        return [];
      }
      this.#failures.failed(key, node, nowMs);
      this.#recorder.warning(set, 'FailedDaemonPod', `Found failed ${who}, will try to kill it`);
      return [pod];
    });
  }

  /** Runs some work, and schedules another pass if there was any. */
  async #carryOut(
    look: Look,
    nodes: DaemonNode[],
    { create, remove }: Work,
  ): Promise<{ nodes: DaemonNode[]; failure: Error | undefined }> {
    if (create.length + remove.length === 0) return { nodes, failure: undefined };
    const { set, placement, history } = look;
    const finish = (pod: Pod, node: string): void => {
      placement.aim(pod, node);
      pod.metadata.labels = { ...pod.metadata.labels, [revisionLabel]: history.update.hash };
    };
    const creation = slowStart(Math.min(create.length, burstMax), (i) =>
      this.#control.create(this.#kind, set, set.spec?.template ?? {}, (pod) => finish(pod, create[i]!)),
    );
    const deletions = Promise.allSettled(
      remove.slice(0, burstMax).map((pod) => this.#control.delete(set, pod)),
    );
    const failures = [
      await creation,
      ...(await deletions).map((one) => (one.status === 'rejected' ? (one.reason as Error) : undefined)),
    ];
    const failure = failures.find((one) => one && !isNamespaceTerminating(one));
    return { nodes: await this.#survey(look), failure };
  }
}

function statusOf(look: Look, nodes: readonly DaemonNode[], moment: Moment): DaemonSetStatus {
  const { metadata, status = {} } = look.set;
  return {
    ...numbersOf(nodes, moment),
    observedGeneration: metadata.generation,
    collisionCount: look.history.collisionCount,
    conditions: status.conditions,
  };
}

const placeable = ({ metadata, spec }: Node): PlaceableNode => ({
  name: metadata.name!,
  labels: metadata.labels ?? {},
  taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
});
