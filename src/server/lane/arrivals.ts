/**
 * Arrivals: requests that arrive in one tick of the event loop are handled together at its end. Each step then runs
 * for all of them before the next begins, and finds its code in the processor's cache. Handled one by one, between
 * reads of sockets, creates at 16 connections in memory cost 410 instead of 216 µs, merge patches 394 instead of 205,
 * and reads 81 instead of 66.
 *
 * Where requests have to ask for the newest revision, the first request of a tick asks for all of them, and etcd answers
 * while the others are read (`revision-prefetch.ts`).
 */
import { optimized } from '../../switches.ts';
import type { PrefetchRevision } from '../http/door.ts';
import { RevisionPrefetch } from './revision-prefetch.ts';

/** Requests handled per tick; the rest waits for the next, so that answers can be sent and other work can run. */
const turnMax = 64;

export class Arrivals {
  constructor(
    private readonly prefetchRevision?: PrefetchRevision,
    private readonly together = optimized,
  ) {}

  #waiting: (() => void)[] = [];
  /** The question for the newest revision, on behalf of requests that were read in this tick. */
  #question: RevisionPrefetch | undefined;

  readonly #takeUp = (): void => {
    this.#question?.check();
    this.#question = undefined;
    const arrived = this.#waiting;
    this.#waiting = arrived.length > turnMax ? arrived.splice(turnMax) : [];
    if (this.#waiting.length > 0) setImmediate(this.#takeUp);
    for (const handle of arrived) handle();
  };

  add(handle: () => void): void {
    if (!this.together) handle();
    else if (this.#waiting.push(handle) === 1) setImmediate(this.#takeUp);
  }

  /**
   * Adds a request right after it was read. Some of its bytes had arrived when the loop found its socket readable, so
   * it can share the question for the newest revision.
   */
  addRead(handle: () => void): void {
    if (!this.prefetchRevision || !this.together) return this.add(handle);
    this.#question ??= new RevisionPrefetch(this.prefetchRevision);
    const question = this.#question;
    question.ask();
    this.add(() => question.run(handle));
  }
}
