/** Runs lifecycles: stage after stage for each simulated pod and node that a lifecycle is for, by the cluster's clock. */

import { StatusError } from '../../api/errors/errors.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { Client } from '../../client/client.ts';
import { nodes, pods } from '../../client/resources.ts';
import type { PodFeed } from '../../node/agent/pod-feed.ts';
import type { PodLives } from '../../node/runtime/simulated/pod-lives.ts';
import type { Timer, Timers } from '../../timers.ts';
import { type Lifecycle, type LifecycleStage, selectorOf } from '../options/lifecycles.ts';
import type { SimulatedPower } from './simulated-nodes.ts';

/** Share is decided in steps of one in so many. */
const shareSteps = 1_000_000;

export interface LifecyclesOptions {
  readonly lifecycles: readonly Lifecycle[];
  readonly client: Client;
  readonly power: SimulatedPower;
  readonly timers: Timers;
  readonly randomBelow: (bound: number) => number;
  readonly onError: (error: Error) => void;
}

interface Rule {
  readonly lifecycle: Lifecycle;
  readonly selector: LabelSelector | undefined;
}

/** Where a pod or node is in its lifecycle. */
interface Life {
  readonly lifecycle: Lifecycle;
  readonly pod: Pod | undefined;
  readonly node: string;
  stage: number;
  timer?: Timer | undefined;
  /** Resolves the wait of containers that may not start yet. */
  open?: (() => void) | undefined;
  held?: Promise<void> | undefined;
  /** Ends its containers; absent while none runs. */
  running: Set<(code: number) => void>;
  /** The stage waits until a container runs. */
  awaitsRun: boolean;
}

export class Lifecycles implements PodLives {
  readonly #podRules: readonly Rule[];
  readonly #nodeRules: readonly Rule[];
  readonly #pods = new Map<string, Life>();
  readonly #nodes = new Map<string, Life>();
  #closed = false;

  constructor(private readonly options: LifecyclesOptions) {
    const rules = options.lifecycles.map((lifecycle) => ({
      lifecycle,
      selector: selectorOf(lifecycle.pods ?? lifecycle.nodes ?? ''),
    }));
    this.#podRules = rules.filter(({ lifecycle }) => lifecycle.pods !== undefined);
    this.#nodeRules = rules.filter(({ lifecycle }) => lifecycle.nodes !== undefined);
  }

  /** A feed whose pods live by the rules. */
  feed(inner: PodFeed): PodFeed {
    if (!this.#podRules.length) return inner;
    return {
      follow: (nodeName, listener) =>
        inner.follow(nodeName, (pod, previous) => {
          if (pod && !pod.metadata.deletionTimestamp) this.#seen(pod);
          else this.#gone((pod ?? previous)!.metadata.uid!);
          listener(pod, previous);
        }),
    };
  }

  /** A node runs for the first time, or again after it was off. */
  nodeStarted(node: string, labels: Readonly<Record<string, string>>): void {
    if (this.#closed || this.#nodes.has(node)) return;
    const lifecycle = this.#chosen(this.#nodeRules, labels, undefined);
    if (!lifecycle) return;
    const life = this.#newLife(lifecycle, node, undefined);
    this.#nodes.set(node, life);
    this.#next(life);
  }

  waiting(uid: string): Promise<void> | undefined {
    return this.#pods.get(uid)?.held;
  }

  running(uid: string, end: (code: number) => void): void {
    const life = this.#pods.get(uid);
    if (!life) return;
    life.running.add(end);
    if (life.awaitsRun) this.#next(life);
  }

  ended(uid: string, end: (code: number) => void): void {
    this.#pods.get(uid)?.running.delete(end);
  }

  close(): void {
    this.#closed = true;
    for (const life of [...this.#pods.values(), ...this.#nodes.values()]) this.#stop(life);
  }

  #seen(pod: Pod): void {
    const uid = pod.metadata.uid!;
    if (this.#closed || this.#pods.has(uid)) return;
    const phase = pod.status?.phase;
    if (phase === 'Succeeded' || phase === 'Failed') return;
    const lifecycle = this.#chosen(this.#podRules, pod.metadata.labels ?? {}, pod.metadata.namespace);
    if (!lifecycle) return;
    const life = this.#newLife(lifecycle, pod.spec!.nodeName!, pod);
    this.#pods.set(uid, life);
    this.#next(life);
  }

  #gone(uid: string): void {
    const life = this.#pods.get(uid);
    if (!life) return;
    this.#pods.delete(uid);
    this.#stop(life);
  }

  #stop(life: Life): void {
    this.options.timers.clear(life.timer);
    life.open?.();
  }

  #chosen(rules: readonly Rule[], labels: Readonly<Record<string, string>>, namespace: string | undefined) {
    const { randomBelow } = this.options;
    return rules.find(
      ({ selector, lifecycle: { namespace: wanted, share = 1 } }) =>
        (wanted === undefined || wanted === namespace) &&
        selector?.matches(labels) &&
        (share === 1 || randomBelow(shareSteps) < share * shareSteps),
    )?.lifecycle;
  }

  #newLife(lifecycle: Lifecycle, node: string, pod: Pod | undefined): Life {
    const life: Life = { lifecycle, pod, node, stage: 0, running: new Set(), awaitsRun: false };
    if (lifecycle.stages!.some(({ start }) => start))
      life.held = new Promise((resolve) => {
        life.open = () => {
          life.held = undefined;
          resolve();
        };
      });
    return life;
  }

  /** Sets the timer of the stage at hand. */
  #next(life: Life): void {
    const { stages = [], repeat } = life.lifecycle;
    if (life.stage >= stages.length) {
      if (!repeat) return;
      life.stage = 0;
    }
    const stage = stages[life.stage]!;
    life.awaitsRun =
      life.pod !== undefined &&
      (stage.exit !== undefined || Boolean(stage.restart)) &&
      life.running.size === 0;
    if (life.awaitsRun) return;
    const { timers, randomBelow } = this.options;
    const { after = 0, jitter = 0 } = stage;
    const delayMs = after + (jitter ? randomBelow(jitter + 1) : 0);
    life.timer = timers.set(() => this.#due(life, stage), delayMs);
    life.timer.unref();
  }

  #due(life: Life, stage: LifecycleStage): void {
    life.stage++;
    this.#act(life, stage)
      .catch((error: Error) => {
        // The object may be gone by now.
        if (!(error instanceof StatusError && [404, 409].includes(error.code)) && !this.#closed)
          this.options.onError(
            new Error(`${life.lifecycle.name ?? 'a lifecycle'}: ${error.message}`, { cause: error }),
          );
      })
      .finally(() => {
        const isCurrent = life.pod
          ? this.#pods.get(life.pod.metadata.uid!) === life
          : this.#nodes.get(life.node) === life;
        if (isCurrent && !this.#closed) this.#next(life);
      });
  }

  async #act(life: Life, stage: LifecycleStage): Promise<void> {
    if (stage.start) life.open?.();
    else if (stage.exit !== undefined) this.#end(life, stage.exit);
    else if (stage.evict !== undefined)
      await this.#patch(
        life,
        { status: { phase: 'Failed', reason: 'Evicted', message: stage.evict } },
        'status',
      );
    else if (stage.power === 'off') await this.options.power.stop(life.node);
    else if (stage.power === 'on') await this.options.power.start(life.node);
    else if (stage.restart) await this.#restart(life);
    else if (stage.status) await this.#patch(life, { status: stage.status }, 'status');
    else if (stage.delete) await this.#delete(life);
    else {
      const { labels, annotations } = stage;
      await this.#patch(life, {
        metadata: { ...(labels && { labels }), ...(annotations && { annotations }) },
      });
    }
  }

  async #restart(life: Life): Promise<void> {
    if (life.pod) return this.#end(life, 137);
    await this.options.power.stop(life.node);
    await this.options.power.start(life.node);
  }

  #end(life: Life, code: number): void {
    for (const end of [...life.running]) end(code);
  }

  async #patch({ pod, node }: Life, patch: object, part?: 'status'): Promise<void> {
    const { client } = this.options;
    if (!pod) await client.patch(nodes, undefined, node, patch, 'strategic', part);
    else {
      const { namespace, name = '', uid } = pod.metadata;
      const body = { ...patch, metadata: { ...(patch as { metadata?: object }).metadata, uid } };
      await client.patch(pods, namespace, name, body, 'strategic', part);
    }
  }

  async #delete({ pod, node }: Life): Promise<void> {
    const { client } = this.options;
    if (!pod) return client.delete(nodes, undefined, node);
    const { namespace, name = '', uid = '' } = pod.metadata;
    await client.delete(pods, namespace, name, { preconditions: { uid } });
  }
}
