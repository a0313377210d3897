/** Versions that are durable in the journal and not in LMDB yet: what reads see first. */
import type { Version } from './engine.ts';
import { compareKeys } from './sorted-map.ts';

export interface Head {
  readonly key: string;
  readonly value: number;
}

export class Overlay {
  readonly #versions = new Map<number, Version>();
  readonly #heads = new Map<string, number>();

  get size(): number {
    return this.#versions.size;
  }

  add(versions: readonly Version[]): void {
    for (const version of versions) {
      this.#versions.set(version.revision, version);
      this.#heads.set(version.key, version.revision);
    }
  }

  /** All of them, in order of their revisions. */
  all(): Version[] {
    return [...this.#versions.values()];
  }

  /** Forgets versions up to a revision. */
  forget(revision: number): void {
    for (const [at, { key }] of this.#versions) {
      if (at > revision) return;
      this.#versions.delete(at);
      if (this.#heads.get(key) === at) this.#heads.delete(key);
    }
  }

  clear(): void {
    this.#versions.clear();
    this.#heads.clear();
  }

  head(key: string): number | undefined {
    return this.#heads.get(key);
  }

  version(revision: number): Version | undefined {
    return this.#versions.get(revision);
  }

  /** Heads in order of keys, from `start` (inclusive) to `end` (exclusive), and those of `below` whose keys it lacks. */
  *heads(below: Iterable<Head>, start: string, end: string | undefined): Generator<Head, void, undefined> {
    const own = [...this.#heads]
      .filter(([key]) => compareKeys(key, start) >= 0 && (end === undefined || compareKeys(key, end) < 0))
      .map(([key, value]) => ({ key, value }))
      .sort((a, b) => compareKeys(a.key, b.key));
    let at = 0;
    for (const head of below) {
      while (at < own.length && compareKeys(own[at]!.key, head.key) < 0) yield own[at++]!;
      if (own[at]?.key === head.key) yield own[at++]!;
      else yield head;
    }
    while (at < own.length) yield own[at++]!;
  }
}
