/**
 * Nominations: pods that have preempted others on a node and wait for them to end. The resources they need there are
 * kept free from pods of lower priority.
 */
import type { PodFacts } from './pod-facts.ts';

interface Nomination {
  readonly pod: PodFacts;
  readonly nodeName: string;
}

export class Nominations {
  readonly #byUid = new Map<string, Nomination>();

  get none(): boolean {
    return this.#byUid.size === 0;
  }

  nodeOf(uid: string): string | undefined {
    return this.#byUid.get(uid)?.nodeName;
  }

  set(pod: PodFacts, nodeName: string): void {
    this.#byUid.set(pod.uid, { pod, nodeName });
  }

  delete(uid: string): void {
    this.#byUid.delete(uid);
  }

  /** Updates the nomination of a waiting pod after any write: a client may have withdrawn it. */
  observe(pod: PodFacts, before: string | undefined): void {
    if (pod.nominatedNodeName) this.set(pod, pod.nominatedNodeName);
    else if (before) this.delete(pod.uid);
  }

  /** Pods nominated to a node with at least the priority of another pod. */
  rivalsOf(pod: PodFacts, nodeName: string): PodFacts[] {
    return this.#on(nodeName, (other) => other.uid !== pod.uid && other.priority >= pod.priority);
  }

  /** Pods nominated to a node with a lower priority than another pod, to which they lose their claim. */
  weakerThan(pod: PodFacts, nodeName: string): PodFacts[] {
    return this.#on(nodeName, (other) => other.priority < pod.priority);
  }

  #on(name: string, concerns: (pod: PodFacts) => boolean): PodFacts[] {
    return [...this.#byUid.values()]
      .filter(({ pod, nodeName }) => nodeName === name && concerns(pod))
      .map(({ pod }) => pod);
  }
}
