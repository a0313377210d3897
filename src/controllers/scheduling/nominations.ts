/**
 * Nominations: pods that wait for others to leave a node, after they have preempted them. What they need there is kept
 * free from pods of lower priority.
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

  /** A waiting pod was written by anyone: a client may withdraw a nomination. */
  observe(pod: PodFacts, before: string | undefined): void {
    if (pod.nominatedNodeName) this.set(pod, pod.nominatedNodeName);
    else if (before) this.delete(pod.uid);
  }

  /** The pods nominated to a node whose claim is stronger than that of another pod, or as strong. */
  rivalsOf(pod: PodFacts, nodeName: string): PodFacts[] {
    return this.#on(nodeName, (other) => other.uid !== pod.uid && other.priority >= pod.priority);
  }

  /** The pods nominated to a node that lose their claim to another pod. */
  weakerThan(pod: PodFacts, nodeName: string): PodFacts[] {
    return this.#on(nodeName, (other) => other.priority < pod.priority);
  }

  #on(name: string, concerns: (pod: PodFacts) => boolean): PodFacts[] {
    return [...this.#byUid.values()]
      .filter(({ pod, nodeName }) => nodeName === name && concerns(pod))
      .map(({ pod }) => pod);
  }
}
