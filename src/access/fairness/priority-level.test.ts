/** Proves that a level keeps to its seats, gives every flow its turn, lends and borrows, and refuses what is too much. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { PriorityLevel } from './priority-level.ts';
import { handOf } from './shuffle-sharding.ts';

const full = new Error('full');
const here = (): boolean => false;

interface Limits {
  readonly queues?: number;
  readonly handSize?: number;
  readonly queueLengthLimit?: number;
  readonly lendablePercent?: number;
  readonly borrowingLimitPercent?: number;
}

/** A level with so many seats. */
function level(seats: number, limits: Limits = {}, lent: () => number = () => 0): PriorityLevel {
  const { queues = 16, handSize = 2, queueLengthLimit = 5, ...rest } = limits;
  const configuration = {
    metadata: { name: 'l', uid: 'u' },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: 1,
        limitResponse:
          queues === 0
            ? { type: 'Reject' }
            : { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } },
        ...rest,
      },
    },
  };
  const made = new PriorityLevel(configuration, { seats, waitMaxMs: 1000, nowMs: () => nowMs }, lent);
  made.configure(configuration, 1);
  return made;
}

let nowMs = 0;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
afterEach(() => vi.useRealTimers());

/** Enters, and keeps the order in which requests are started. */
function enter(into: PriorityLevel, flow: string, started: string[], isGone = here): Promise<void> {
  const waiting = into.enter(flow, isGone, () => full);
  if (!waiting) started.push(flow);
  return waiting?.then(() => void started.push(flow)) ?? Promise.resolve();
}

describe('a level', () => {
  it('starts as many as it has seats, and the next when one is left', async () => {
    const one = level(2);
    const started: string[] = [];
    const all = ['a', 'b', 'c'].map((flow) => enter(one, flow, started));
    await tick();
    expect(started).toEqual(['a', 'b']);
    expect([one.underWay, one.waiting]).toEqual([2, 1]);
    one.leave();
    await Promise.all(all);
    expect(started).toEqual(['a', 'b', 'c']);
    expect([one.underWay, one.waiting]).toEqual([2, 0]);
  });

  it('gives every flow its turn, however many another has waiting', async () => {
    const one = level(1, { queueLengthLimit: 50 });
    const started: string[] = [];
    const waits = [enter(one, 'first', started)];
    for (let i = 0; i < 20; i++) waits.push(enter(one, 'greedy', started));
    waits.push(enter(one, 'modest', started));
    while (one.waiting > 0) {
      one.leave();
      await tick();
    }
    await Promise.all(waits);
    // Greedy has two queues of sixteen, modest another.
    expect(started.indexOf('modest')).toBeLessThanOrEqual(3);
  });

  it('starts no more in one tick than it has seats, though each is over at once', async () => {
    const one = level(3);
    const started: string[] = [];
    const waits: Promise<void>[] = [];
    for (const flow of ['a', 'b', 'c', 'd']) {
      waits.push(enter(one, flow, started).then(() => undefined));
      if (started.at(-1) === flow) one.leave();
    }
    expect(started).toEqual(['a', 'b', 'c']);
    await Promise.all(waits);
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('refuses what finds its queues full, and all that waits when it has none', () => {
    const one = level(1, { handSize: 1, queueLengthLimit: 2 });
    const started: string[] = [];
    for (let i = 0; i < 3; i++) void enter(one, 'a', started).catch(() => undefined);
    expect(() => one.enter('a', here, () => full)).toThrow(full);
    const without = level(1, { queues: 0 });
    void enter(without, 'a', started);
    expect(() => without.enter('b', here, () => full)).toThrow(full);
    expect([one.dispatched, [...one.refused]]).toEqual([1, [['queue-full', 1]]]);
    expect([without.dispatched, [...without.refused]]).toEqual([1, [['concurrency-limit', 1]]]);
  });

  it('refuses what has waited too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const one = level(1);
    const started: string[] = [];
    void enter(one, 'a', started);
    const late = expect(enter(one, 'b', started)).rejects.toThrow(full);
    vi.advanceTimersByTime(1000);
    await late;
    expect(one.waiting).toBe(0);
    expect([...one.refused]).toEqual([['time-out', 1]]);
  });

  it('does not start requests whose clients have gone', async () => {
    const one = level(1);
    const started: string[] = [];
    void enter(one, 'a', started);
    const gone = expect(enter(one, 'b', started, () => true)).rejects.toThrow(full);
    const waits = enter(one, 'c', started);
    one.leave();
    await Promise.all([gone, waits]);
    expect(started).toEqual(['a', 'c']);
    expect([one.dispatched, [...one.refused]]).toEqual([2, [['cancelled', 1]]]);
  });

  it('borrows while others lend, up to its limit', async () => {
    let lent = 1;
    const one = level(2, {}, () => lent);
    const started: string[] = [];
    void enter(one, 'a', started);
    void enter(one, 'b', started);
    await tick();
    void enter(one, 'c', started);
    expect(started).toEqual(['a', 'b', 'c']);
    expect(one.borrowed).toBe(1);
    lent = 0;
    const waits = enter(one, 'd', started);
    await tick();
    expect(one.waiting).toBe(1);
    one.leave();
    one.leave();
    await waits;
    const limited = level(2, { borrowingLimitPercent: 0 }, () => 5);
    void enter(limited, 'a', started);
    void enter(limited, 'b', started);
    await tick();
    void enter(limited, 'c', started).catch(() => undefined);
    expect(limited.waiting).toBe(1);
  });

  it('lends what it does not use, as far as it may', () => {
    const one = level(10, { lendablePercent: 50 });
    expect(one.lendable).toBe(5);
    for (let i = 0; i < 7; i++) void enter(one, 'a', []);
    expect(one.lendable).toBe(3);
  });

  it('asks clients to wait longer while it refuses many, second after second', () => {
    const one = level(1, { queues: 0 });
    void enter(one, 'a', []);
    const refused = (): number => {
      expect(() => one.enter('b', here, () => full)).toThrow(full);
      return one.retryAfterSeconds;
    };
    const seconds: number[] = [];
    for (nowMs = 0; nowMs < 8000; nowMs += 1000) seconds.push(refused());
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 32, 32]);
    nowMs += 5000;
    expect(refused()).toBe(1);
  });
});

describe('a hand', () => {
  it('has different queues, the same for the same flow', () => {
    for (let i = 0; i < 200; i++) {
      const hand = handOf(`flow ${i}`, 16, 4);
      expect(new Set(hand).size).toBe(4);
      expect(Math.max(...hand)).toBeLessThan(16);
      expect(Math.min(...hand)).toBeGreaterThanOrEqual(0);
      expect(handOf(`flow ${i}`, 16, 4)).toEqual(hand);
    }
  });

  it('is spread over all queues', () => {
    const used = new Set(Array.from({ length: 200 }, (_, i) => handOf(`flow ${i}`, 16, 4)).flat());
    expect(used.size).toBe(16);
  });
});
