// Proves that a revision is confirmed only while it is the newest one recorded.
import { describe, expect, it } from 'vitest';
import { optimized } from '../switches.ts';
import { RecentRevisions } from './recent-revisions.ts';

const value = Buffer.from('');

describe('RecentRevisions', () => {
  it.runIf(optimized)('has the newest revision of a key, until it is deleted', () => {
    const recent = new RecentRevisions();
    const change = (revision: number, deleted = false) =>
      recent.remember([{ key: 'a', revision, timeMs: 0, value: deleted ? null : value }]);
    change(1);
    expect([recent.has('a', 1), recent.has('a', 2), recent.has('b', 1)]).toEqual([true, false, false]);
    change(2);
    expect([recent.has('a', 1), recent.has('a', 2)]).toEqual([false, true]);
    change(3, true);
    expect([recent.has('a', 2), recent.has('a', 3)]).toEqual([false, false]);
  });

  it('forgets all rather than to grow without bound', () => {
    const recent = new RecentRevisions();
    for (let revision = 1; revision <= 20_000; revision++)
      recent.remember([{ key: `key ${revision}`, revision, timeMs: 0, value }]);
    expect(recent.has('key 1', 1)).toBe(false);
    expect(recent.has('key 20000', 20_000)).toBe(optimized);
  });
});
