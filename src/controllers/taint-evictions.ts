/**
 * Evictions by taints: deletes a pod on a node with a NoExecute taint when it does not tolerate the taint, or when
 * its tolerationSeconds are over. A pod stays if the taint is removed in time.
 */

import type { Node, Pod, Taint } from '../api/generated/types.ts';
import { withCondition } from '../api/rules/shared/condition.ts';
import { timeToMs } from '../api/values/time.ts';
import type { EventRecorder } from '../client/events.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import type { Entry } from '../registry/view/entry.ts';
import { tolerates } from './scheduling/node-affinity.ts';
import {
  fromKey,
  ifUnchanged,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { recorderFor } from './shared/event-sink.ts';
import type { IndexedPod } from './shared/indexed-pod.ts';
import { WorkQueue } from './shared/work-queue.ts';

export class TaintEvictions {
  readonly #recorder: EventRecorder;
  readonly #tainted = new Map<string, readonly Taint[]>();
  readonly #queue: WorkQueue;
  /** Pods with a pending eviction, and since when: taints need not have a timeAdded. */
  readonly #marked = new Map<string, number>();

  constructor(private readonly context: SharedContext) {
    this.#recorder = recorderFor(context, 'taint-eviction-controller');
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#look(key),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
      observe(this.context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    const { namespace, name, nodeName } = (pod ?? previous)!;
    const key = keyOf(namespace, name);
    if (!pod) this.#marked.delete(key);
    else if (this.#tainted.has(nodeName)) this.#queue.add(key);
  }

  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { name } = (entry ?? previous)!;
    const taints = entry?.document.includes('"NoExecute"')
      ? ((entry.peek() as Node).spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
      : [];
    if (taints.length) this.#tainted.set(name, taints);
    else if (!this.#tainted.delete(name)) return;
    for (const pod of this.context.pods.onNode(name)) this.#queue.add(keyOf(pod.namespace, pod.name));
  }

  async #look(key: string): Promise<void> {
    const [namespace, name] = fromKey(key);
    const entry = this.context.registry.view.collection('core/pods').get(namespace, name);
    if (!entry) return;
    const pod = entry.peek() as Pod;
    if (pod.metadata.deletionTimestamp) return void this.#marked.delete(key);
    const taints = this.#tainted.get(pod.spec?.nodeName ?? '') ?? [];
    const nowMs = this.context.registry.sources.nowMs();
    const markedMs = this.#marked.get(key) ?? nowMs;
    const endMs = endOf(pod, taints, markedMs);
    if (endMs === undefined) {
      if (this.#marked.delete(key)) this.#tell(pod, `Cancelling deletion of Pod ${key}`);
      return;
    }
    const waitMs = endMs - nowMs;
    if (waitMs > 0) {
      this.#marked.set(key, markedMs);
      this.#queue.addAfter(key, waitMs);
      return;
    }
    this.#marked.delete(key);
    await this.#evict(entry, key);
  }

  async #evict(entry: Entry, key: string): Promise<void> {
    const { registry, writing, request } = this.context;
    const pod = entry.peek() as Pod;
    const { uid } = pod.metadata;
    this.#tell(pod, `Marking for deletion Pod ${key}`);
    const now = registry.now();
    await ifUnchanged(
      modify(writing, request('update'), targetOf(entry, 'status'), (current) => {
        const object = current.object() as Pod;
        const status = (object.status ??= {});
        const target = {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByTaintManager',
          message: 'Taint manager: deleting due to NoExecute taint',
        };
        status.conditions = withCondition(status.conditions, target, now);
        return object;
      }),
    );
    await ifUnchanged(remove(writing, request('delete'), targetOf(entry), { preconditions: { uid } }));
  }

  #tell(pod: Pod, message: string): void {
    this.#recorder.normal(
      { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata },
      'TaintManagerEviction',
      message,
    );
  }
}

/** When a pod is to be evicted; undefined when it may stay. */
function endOf(pod: Pod, taints: readonly Taint[], markedMs: number): number | undefined {
  let endMs: number | undefined;
  for (const taint of taints) {
    const tolerations = (pod.spec?.tolerations ?? []).filter((one) => tolerates([one], taint));
    if (tolerations.length === 0) return 0;
    const seconds = tolerations.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
    if (seconds.length === 0) continue;
    const sinceMs = taint.timeAdded ? timeToMs(taint.timeAdded) : markedMs;
    const oneEndMs = sinceMs + Math.max(0, Math.min(...seconds.map(Number))) * 1000;
    endMs = Math.min(endMs ?? oneEndMs, oneEndMs);
  }
  return endMs;
}
