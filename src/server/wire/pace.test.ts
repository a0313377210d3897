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

  it('is one for all that begin in a turn, and one of them goes on in each', async () => {
    const begun = Array.from({ length: 5 }, () => new Pace());
    work(6);
    expect([...begun, new Pace()].map((pace) => pace.isOver)).toEqual(Array(6).fill(true));
    let [turn, isDone] = [0, false];
    const counting = (async () => {
      for (; !isDone; turn++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const wentOnIn: number[] = [];
    await Promise.all(begun.map((pace) => pace.rest().then(() => wentOnIn.push(turn))));
    isDone = true;
    await counting;
    expect(new Set(wentOnIn).size).toBe(5);
  });
});
