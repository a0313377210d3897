import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deadlines } from './deadlines.ts';

describe('deadlines', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('pass in their order, whatever the order in which they were added', () => {
    const deadlines = new Deadlines();
    const passed: string[] = [];
    deadlines.add(500, () => passed.push('long'));
    deadlines.add(20, () => passed.push('short'));
    const removed = deadlines.add(30, () => passed.push('removed'));
    deadlines.add(100, () => passed.push('middle'));
    vi.advanceTimersByTime(19);
    expect(passed).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(passed).toEqual(['short']);
    deadlines.remove(removed);
    vi.advanceTimersByTime(80);
    expect(passed).toEqual(['short', 'middle']);
    deadlines.add(10, () => passed.push('added later'));
    vi.advanceTimersByTime(10);
    expect(passed).toEqual(['short', 'middle', 'added later']);
    vi.advanceTimersByTime(390);
    expect(passed).toEqual(['short', 'middle', 'added later', 'long']);
  });

  it('take one timer, however many they are', () => {
    const deadlines = new Deadlines();
    for (let i = 0; i < 1000; i++) deadlines.remove(deadlines.add(1000, () => undefined));
    deadlines.add(1000, () => undefined);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('can be further away than a timer', () => {
    const deadlines = new Deadlines();
    let passed = 0;
    const dayMs = 24 * 60 * 60 * 1000;
    deadlines.add(60 * dayMs, () => passed++);
    vi.advanceTimersByTime(60 * dayMs - 1);
    expect([passed, vi.getTimerCount()]).toEqual([0, 1]);
    vi.advanceTimersByTime(1);
    expect(passed).toBe(1);
  });

  it('may be added and removed while others pass', () => {
    const deadlines = new Deadlines();
    const passed: string[] = [];
    deadlines.add(10, () => {
      passed.push('first');
      deadlines.remove(second);
      deadlines.add(5, () => passed.push('third'));
    });
    const second = deadlines.add(10, () => passed.push('second'));
    vi.advanceTimersByTime(10);
    expect(passed).toEqual(['first']);
    vi.advanceTimersByTime(5);
    expect(passed).toEqual(['first', 'third']);
  });
});
