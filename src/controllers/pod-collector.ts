/**
 * The pod collector: deletes pods that no other part would: pods of deleted nodes, unscheduled pods that are being
 * deleted, pods on a node with the out-of-service taint, and the oldest finished pods beyond a number.
 */

import type { Node, Pod } from '../api/generated/types.ts';
import { isFinished } from '../api/rules/pod/pod-facts.ts';
import { withCondition } from '../api/rules/shared/condition.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

const outOfService = 'node.kubernetes.io/out-of-service';
/** A deleted node that is created again within this share of the node grace period keeps its pods. */
const quarantineShare = 0.8;

export const podCollector: Controller = {
  name: 'pod-collector',
  writer: 'pod-garbage-collector',
  start: (context) => new PodCollector(context).start(),
};

class PodCollector {
  readonly #queue: WorkQueue;
  /** Finished pods, the one that finished first being the first. */
  readonly #finished = new Set<string>();
  /** Finished pods beyond the limit. */
  readonly #surplus = new Set<string>();

  constructor(private readonly context: SharedContext) {
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#look(key),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/pods', (entry, previous) => this.#podChanged(entry, previous)),
      observe(this.context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
    ];
    return running(observations, [this.#queue]);
  }

  get #quarantineMs(): number {
    return this.context.settings.nodeGraceMs * quarantineShare;
  }

  #node(name: string): Entry | undefined {
    return this.context.registry.view.collection('core/nodes').get('', name);
  }

  #podChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    const key = keyOf(namespace, name);
    if (!entry) {
      this.#finished.delete(key);
      this.#surplus.delete(key);
      return;
    }
    if (isFinished(entry.field('status.phase'))) this.#finish(key);
    const nodeName = entry.field('spec.nodeName');
    if (nodeName && !this.#node(nodeName)) this.#queue.addAfter(key, this.#quarantineMs);
    else if (entry.mayBeMarked) this.#queue.add(key);
  }

  #finish(key: string): void {
    if (!this.#surplus.has(key)) this.#finished.add(key);
    for (const oldest of this.#finished) {
      if (this.#finished.size <= this.context.settings.finishedPodsMax) break;
      this.#finished.delete(oldest);
      this.#surplus.add(oldest);
      this.#queue.add(oldest);
    }
  }

  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { name } = (entry ?? previous)!;
    if (entry && !entry.document.includes(outOfService)) return;
    for (const pod of this.context.pods.onNode(name)) {
      const key = keyOf(pod.namespace, pod.name);
      if (entry) this.#queue.add(key);
      else this.#queue.addAfter(key, this.#quarantineMs);
    }
  }

  async #look(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const entry = this.context.registry.view.collection('core/pods').get(namespace, name);
    if (!entry) return;
    const pod = entry.peek() as Pod;
    const nodeName = pod.spec?.nodeName;
    const finished = isFinished(pod.status?.phase);
    if (nodeName && !this.#node(nodeName)) {
      if (!finished) await this.#fail(entry, 'PodGC: node no longer exists');
      await this.#end(entry);
    } else if (finished && this.#surplus.has(key)) await this.#end(entry);
    else if (pod.metadata.deletionTimestamp && (!nodeName || this.#isOutOfService(nodeName)))
      await this.#end(entry);
  }

  #isOutOfService(nodeName: string): boolean {
    const node = this.#node(nodeName)?.peek() as Node | undefined;
    const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    return !ready && (node?.spec?.taints?.some(({ key }) => key === outOfService) ?? false);
  }

  async #fail(entry: Entry, message: string): Promise<void> {
    const { registry, writing, request } = this.context;
    const now = registry.now();
    await ifUnchanged(
      modify(writing, request('update'), targetOf(entry, 'status'), (current) => {
        const object = current.object() as Pod;
        const status = (object.status ??= {});
        status.phase = 'Failed';
        const target = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message };
        status.conditions = withCondition(status.conditions, target, now);
        return object;
      }),
    );
  }

  async #end(entry: Entry): Promise<void> {
    const { writing, request } = this.context;
    await ifUnchanged(
      remove(writing, request('delete'), targetOf(entry), {
        gracePeriodSeconds: 0,
        preconditions: { uid: entry.peek().metadata.uid },
      }),
    );
  }
}
