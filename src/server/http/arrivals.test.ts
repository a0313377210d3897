import { describe, expect, it } from 'vitest';
import { Arrivals } from './arrivals.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('arrivals', () => {
  it('are taken up together at the end of the turn, in their order', async () => {
    const arrivals = new Arrivals(true);
    const taken: string[] = [];
    arrivals.add(() => taken.push('first'));
    await Promise.resolve();
    arrivals.add(() => taken.push('second'));
    expect(taken).toEqual([]);
    await turn();
    expect(taken).toEqual(['first', 'second']);
  });

  it('of a later turn wait for its end', async () => {
    const arrivals = new Arrivals(true);
    const taken: string[] = [];
    arrivals.add(() => arrivals.add(() => taken.push('later')));
    await turn();
    expect(taken).toEqual([]);
    await turn();
    expect(taken).toEqual(['later']);
  });

  it('are so many a turn that others have theirs', async () => {
    const arrivals = new Arrivals(true);
    let taken = 0;
    for (let i = 0; i < 150; i++) arrivals.add(() => taken++);
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      await turn();
      counts.push(taken);
    }
    expect(counts).toEqual([64, 128, 150, 150]);
  });
});
