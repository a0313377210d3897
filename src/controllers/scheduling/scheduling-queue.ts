/**
 * The scheduling queue: pods that wait for a node, by priority, then by age. An unschedulable pod waits separately
 * until the cluster changes, and at least for its back-off.
 */
import type { Timer, Timers } from '../../timers.ts';
import type { PodFacts } from './pod-facts.ts';

const backoffFirstMs = 1_000;
const backoffMaxMs = 10_000;

interface Waiting {
  readonly pod: PodFacts;
  readonly attempts: number;
  readonly notBeforeMs: number;
  /** Whether the cluster has changed since the last attempt. */
  worthATry: boolean;
}

export class SchedulingQueue {
  /** A heap; the first is the next pod. */
  readonly #heap: PodFacts[] = [];
  /** The newest state of every pod in the heap; other entries of the heap are stale. */
  readonly #ready = new Map<string, PodFacts>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #attempts = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(
    private readonly now: () => number,
    private readonly wake: () => void,
    private readonly timers: Timers,
  ) {}

  get empty(): boolean {
    return this.#ready.size === 0;
  }

  /** A new or changed pod. An unschedulable one is tried again only if the change may matter. */
  offer(pod: PodFacts): void {
    const waiting = this.#waiting.get(pod.uid);
    if (waiting && waiting.pod.signature === pod.signature) {
      this.#waiting.set(pod.uid, { ...waiting, pod });
      return;
    }
    this.#waiting.delete(pod.uid);
    this.#push(pod);
  }

  forget(uid: string): void {
    this.#ready.delete(uid);
    this.#waiting.delete(uid);
    this.#attempts.delete(uid);
  }

  next(): PodFacts | undefined {
    for (;;) {
      const pod = this.#pop();
      if (!pod) return undefined;
      if (this.#ready.get(pod.uid) === pod) {
        this.#ready.delete(pod.uid);
        return pod;
      }
    }
  }

  /** Called when no node was found. `again`: the reason was an error, not the state of the cluster. */
  failed(pod: PodFacts, again: boolean): void {
    const attempts = (this.#attempts.get(pod.uid) ?? 0) + 1;
    this.#attempts.set(pod.uid, attempts);
    const backoffMs = Math.min(backoffFirstMs * 2 ** (attempts - 1), backoffMaxMs);
    this.#waiting.set(pod.uid, { pod, attempts, notBeforeMs: this.now() + backoffMs, worthATry: again });
    if (again) this.#retry();
  }

  /** Called when the cluster has changed in a way that may help. */
  clusterChanged(): void {
    this.#encourage(() => true);
  }

  /** Called when a pod was placed: that may help pods with affinity or spread constraints. */
  podPlaced(): void {
    this.#encourage(({ affinity, spread }) => affinity?.podAffinity !== undefined || spread.length > 0);
  }

  #encourage(concerns: (pod: PodFacts) => boolean): void {
    if (this.#waiting.size === 0) return;
    for (const waiting of this.#waiting.values()) if (concerns(waiting.pod)) waiting.worthATry = true;
    this.#retry();
  }

  close(): void {
    this.timers.clear(this.#timer);
  }

  /** Moves pods whose back-off is over to the heap, and sets a timer for the next. */
  #retry(): void {
    this.timers.clear(this.#timer);
    const nowMs = this.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [uid, { pod, notBeforeMs, worthATry }] of this.#waiting) {
      if (!worthATry) continue;
      if (notBeforeMs > nowMs) nextMs = Math.min(nextMs, notBeforeMs);
      else {
        this.#waiting.delete(uid);
        this.#push(pod);
      }
    }
    if (nextMs < Number.POSITIVE_INFINITY) {
      this.#timer = this.timers.set(() => this.#retry(), nextMs - nowMs);
      this.#timer.unref();
    }
  }

  #push(pod: PodFacts): void {
    this.#ready.set(pod.uid, pod);
    const heap = this.#heap;
    let i = heap.push(pod) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(heap[i]!, heap[parent]!)) break;
      [heap[i], heap[parent]] = [heap[parent]!, heap[i]!];
      i = parent;
    }
    this.wake();
  }

  #pop(): PodFacts | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || heap.length === 0) return first;
    heap[0] = last!;
    for (let i = 0; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && before(heap[child]!, heap[least]!)) least = child;
      if (least === i) return first;
      [heap[i], heap[least]] = [heap[least]!, heap[i]!];
      i = least;
    }
  }
}

const before = (a: PodFacts, b: PodFacts): boolean =>
  a.priority !== b.priority
    ? a.priority > b.priority
    : a.createdMs !== b.createdMs
      ? a.createdMs < b.createdMs
      : a.key < b.key;
