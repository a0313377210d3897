/**
 * Writers that keep a store busy while etcd fails, and the check of their answers: every acknowledged write is in
 * the history at its revision, every write that failed as not done is not in it, and a watcher has seen each change once
 * and in order. A write whose outcome was unknown may be in it or not.
 */
import { expect } from 'vitest';
import { follow } from '../observer.fixture.ts';
import { type Change, OutcomeUnknownError, type Store } from '../store.ts';

interface Told {
  readonly key: string;
  /** Unique; of a deletion, what it deleted. */
  readonly value: string;
  readonly deletes: boolean;
  readonly outcome: number | 'lost' | 'unknown' | 'not done';
}

/** Everything written before is not in the history that the workload knows. */
export class Workload {
  readonly #told: Told[] = [];
  readonly #live: ReturnType<typeof follow>;
  readonly #writers: Promise<void>[];
  #stopped = false;
  #values = 0;
  #acknowledged = 0;
  #waiting: { count: number; resolve: () => void }[] = [];

  constructor(
    private readonly store: Store,
    private readonly begun: number,
    writers = 6,
  ) {
    this.#live = follow(store, begun);
    this.#writers = Array.from({ length: writers }, (_, i) => this.#write(`w${i}`));
  }

  /** Resolves when so many more writes are acknowledged. */
  progress(count: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ count: this.#acknowledged + count, resolve }));
  }

  /** Stops the writers and checks their answers against the history that `witness` reads. */
  async check(witness: Store): Promise<{ acknowledged: number; unknown: number }> {
    this.#stopped = true;
    await Promise.all(this.#writers);
    const newest = await this.store.revision();
    const history = follow(witness, this.begun);
    const end = await witness.revision();
    expect(end).toBeGreaterThanOrEqual(newest);
    await history.until(this.#lastRevision());
    expect(this.#live.words()).toEqual(history.words().slice(0, this.#live.words().length));
    this.#checkOrder(this.#live.changes);
    const byValue = new Map<string, Change>();
    const deletedAt = new Map<string, number>();
    const current = new Map<string, string>();
    for (const change of history.changes) {
      if (change.value) {
        expect(byValue.has(String(change.value))).toBe(false);
        byValue.set(String(change.value), change);
        current.set(change.key, String(change.value));
      } else {
        deletedAt.set(current.get(change.key)!, change.revision);
        current.delete(change.key);
      }
    }
    for (const { key, value, deletes, outcome } of this.#told) {
      const at = deletes ? deletedAt.get(value) : byValue.get(value)?.revision;
      const where = `${deletes ? 'deletion of ' : ''}${value} of ${key}`;
      if (typeof outcome === 'number') expect(at, where).toBe(outcome);
      else if (outcome !== 'unknown') expect(at, where).toBeUndefined();
    }
    history.subscription.close();
    const unknown = this.#told.filter(({ outcome }) => outcome === 'unknown').length;
    return { acknowledged: this.#acknowledged, unknown };
  }

  #lastRevision(): number {
    return Math.max(0, ...this.#told.map(({ outcome }) => (typeof outcome === 'number' ? outcome : 0)));
  }

  #checkOrder(changes: readonly Change[]): void {
    let last = 0;
    for (const { revision } of changes) {
      expect(revision).toBeGreaterThan(last);
      last = revision;
    }
  }

  async #write(key: string): Promise<void> {
    while (!this.#stopped) {
      const before = await this.store.get(key).catch(() => null);
      if (before === null) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const deletes = before !== undefined && this.#values % 5 === 0;
      const value = deletes ? String(before.value) : `v${++this.#values}`;
      if (deletes) this.#values++;
      const write = { key, value: deletes ? null : Buffer.from(value), expected: before?.revision ?? 0 };
      const outcome = await this.store.write(write).then(
        (result) => (result.ok ? result.revision : ('lost' as const)),
        (error) => (error instanceof OutcomeUnknownError ? ('unknown' as const) : ('not done' as const)),
      );
      this.#told.push({ key, value, deletes, outcome });
      if (typeof outcome === 'number') this.#count();
    }
  }

  #count(): void {
    this.#acknowledged++;
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.#acknowledged < count) return true;
      resolve();
      return false;
    });
  }
}
