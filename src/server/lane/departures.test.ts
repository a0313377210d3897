import { describe, expect, it } from 'vitest';
import { Departures } from './departures.ts';

describe('departures', () => {
  it('wait for all answers that are ready in the same turn, and leave in their order', async () => {
    const departures = new Departures(true);
    const left: string[] = [];
    const ready = Promise.resolve();
    await Promise.all(
      ['first', 'second'].map(async (answer) => {
        await ready;
        departures.add(() => left.push(answer));
        expect(left).toEqual([]);
      }),
    );
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(left).toEqual(['first', 'second']);
  });
});
