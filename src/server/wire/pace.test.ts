/** Proves that long work lets other work run, and that short work does not wait. */
import { describe, expect, it } from 'vitest';
import { Pace } from './pace.ts';

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('the pace of work', () => {
  it('has pauses in which others run', async () => {
    const pace = new Pace();
    let others = 0;
    const other = (): void => {
      others++;
      if (others < 100) setImmediate(other);
    };
    setImmediate(other);
    for (let i = 0; i < 10; i++) {
      work(6);
      const pause = pace.pause();
      expect(pause).toBeInstanceOf(Promise);
      await pause;
    }
    expect(others).toBeGreaterThanOrEqual(10);
  });

  it('begins anew after a pause', async () => {
    const pace = new Pace();
    work(6);
    expect(pace.isOver).toBe(true);
    await pace.rest();
    expect(pace.isOver).toBe(false);
  });
});
