/**
 * Proves that watchers over the network are notified together, a bounded number per tick, and that none misses a
 * change made meanwhile.
 */
import { describe, expect, it } from 'vitest';
import { WatchRounds } from './watch-rounds.ts';
import type { Watcher } from './watcher.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Watchers that count how often they are notified. */
function crowd(size: number, looked: (index: number) => void = () => undefined): Watcher[] {
  return Array.from({ length: size }, (_, i) => ({ pump: () => looked(i) }) as unknown as Watcher);
}

/** A clock that stands still. */
const still = () => 0;

describe('rounds', () => {
  it('are made once for all changes of a turn', async () => {
    const looks: number[] = [];
    const told: [number, number][] = [];
    const rounds = new WatchRounds((from, to) => told.push([from, to]), still);
    for (const watcher of crowd(3, (i) => looks.push(i))) rounds.add(watcher);
    rounds.announce(7);
    rounds.announce(8);
    expect(looks).toEqual([]);
    await turn();
    expect(looks).toEqual([0, 1, 2]);
    expect(told).toEqual([[7, Number.POSITIVE_INFINITY]]);
    await turn();
    expect(looks).toEqual([0, 1, 2]);
  });

  it('let others have their turn between some watchers and the next', async () => {
    let looks = 0;
    const rounds = new WatchRounds(() => undefined, still);
    for (const watcher of crowd(2_000, () => looks++)) rounds.add(watcher);
    rounds.announce(0);
    await turn();
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(1_000);
    for (let i = 0; i < 10; i++) await turn();
    expect(looks).toBe(2_000);
  });

  it('let others have their turn when some watchers take long', async () => {
    let nowMs = 0;
    let looks = 0;
    const rounds = new WatchRounds(
      () => undefined,
      () => nowMs,
    );
    const slow = () => {
      looks++;
      nowMs++;
    };
    for (const watcher of crowd(40, slow)) rounds.add(watcher);
    rounds.announce(0);
    await turn();
    // Events of some 100 kB take a millisecond each: five watchers, not sixteen, before others have their turn.
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(6);
    for (let i = 0; i < 10; i++) await turn();
    expect(looks).toBe(40);
  });

  it('are made again for what changes while one is under way, and forget only what all were told', async () => {
    const looks = Array<number>(1_500).fill(0);
    const told: [number, number][] = [];
    const rounds = new WatchRounds((from, to) => told.push([from, to]), still);
    for (const watcher of crowd(looks.length, (i) => looks[i]!++)) rounds.add(watcher);
    rounds.announce(0);
    await turn();
    rounds.announce(1);
    for (let i = 0; i < 10; i++) await turn();
    expect(looks.every((count) => count === 2)).toBe(true);
    expect(told).toEqual([
      [0, 1],
      [1, Number.POSITIVE_INFINITY],
    ]);
  });

  it('pass over a watcher that has left', async () => {
    const looks: number[] = [];
    const rounds = new WatchRounds(() => undefined, still);
    const watchers = crowd(3, (i) => {
      looks.push(i);
      rounds.delete(watchers[1]!);
    });
    for (const watcher of watchers) rounds.add(watcher);
    rounds.announce(0);
    await turn();
    expect(looks).toEqual([0, 2]);
    expect(rounds.size).toBe(2);
  });
});
