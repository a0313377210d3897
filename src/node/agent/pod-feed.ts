/**
 * Pod feeds: the pods bound to a node, and their changes. A single agent watches its own pods; many agents of
 * one process share one watch over all pods.
 */
import type { Pod } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { pods } from '../../client/resources.ts';

/** Called with the pod now (undefined when deleted) and as it was before. */
export type PodListener = (pod: Pod | undefined, previous: Pod | undefined) => void;

export interface PodFollowing {
  /** Resolves when the listener has been called for all existing pods, or the following was closed. */
  readonly synced: Promise<void>;
  close(): void;
}

export interface PodFeed {
  /** Calls the listener for the pods of a node. */
  follow(nodeName: string, listener: PodListener): PodFollowing;
}

/** For one agent: its own watch. */
export class NodePods implements PodFeed {
  constructor(
    private readonly client: Client,
    private readonly onError: (error: Error) => void,
  ) {}

  follow(nodeName: string, listener: PodListener): PodFollowing {
    const informer = new Informer<Pod>(this.client, pods, {
      fieldSelector: `spec.nodeName=${nodeName}`,
      changed: listener,
      onError: this.onError,
    });
    return { synced: informer.start(), close: () => informer.close() };
  }
}

/** For many agents: one watch, whose events are distributed by node name. */
export class SharedPods implements PodFeed {
  readonly #listeners = new Map<string, PodListener>();
  /** Pods by node and uid, so that a new follower gets its pods without a scan of all. */
  readonly #bound = new Map<string, Map<string, Pod>>();
  readonly #informer: Informer<Pod>;
  #synced: Promise<void> | undefined;

  constructor(client: Client, onError: (error: Error) => void) {
    this.#informer = new Informer<Pod>(client, pods, {
      fieldSelector: 'spec.nodeName!=',
      changed: (pod, previous) => this.#deal(pod, previous),
      onError,
    });
  }

  follow(nodeName: string, listener: PodListener): PodFollowing {
    if (this.#listeners.has(nodeName))
      throw new Error(`node ${nodeName} has an agent in this process already`);
    this.#listeners.set(nodeName, listener);
    for (const pod of this.#bound.get(nodeName)?.values() ?? []) listener(pod, undefined);
    let stop = (): void => undefined;
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    this.#synced ??= this.#informer.start();
    return {
      synced: Promise.race([this.#synced, stopped]),
      close: () => {
        if (this.#listeners.get(nodeName) === listener) this.#listeners.delete(nodeName);
        stop();
      },
    };
  }

  close(): void {
    this.#informer.close();
    this.#listeners.clear();
    this.#bound.clear();
  }

  /**
   * Passes a change to the followers of the pod's node. A pod never changes its node; a new pod of the same
   * name has another uid and counts as another pod.
   */
  #deal(pod: Pod | undefined, previous: Pod | undefined): void {
    const { metadata, spec } = (pod ?? previous)!;
    const node = spec?.nodeName;
    if (!node) return;
    let bound = this.#bound.get(node);
    if (!bound) this.#bound.set(node, (bound = new Map()));
    if (pod) bound.set(metadata.uid!, pod);
    else bound.delete(metadata.uid!);
    if (!bound.size) this.#bound.delete(node);
    this.#listeners.get(node)?.(pod, previous);
  }
}
