import { stat } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Arrivals } from './arrivals.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Goes on where the event loop handles events, as those of sockets. */
const event = (): Promise<void> => new Promise((resolve) => stat('.', () => resolve()));

describe('arrivals', () => {
  it('are taken up together at the end of the turn, in their order', async () => {
    const arrivals = new Arrivals(undefined, true);
    const taken: string[] = [];
    arrivals.add(() => taken.push('first'));
    await Promise.resolve();
    arrivals.add(() => taken.push('second'));
    expect(taken).toEqual([]);
    await turn();
    expect(taken).toEqual(['first', 'second']);
  });

  it('of a later turn wait for its end', async () => {
    const arrivals = new Arrivals(undefined, true);
    const taken: string[] = [];
    arrivals.add(() => arrivals.add(() => taken.push('later')));
    await turn();
    expect(taken).toEqual([]);
    await turn();
    expect(taken).toEqual(['later']);
  });

  it('are so many a turn that others have theirs', async () => {
    const arrivals = new Arrivals(undefined, true);
    let taken = 0;
    for (let i = 0; i < 150; i++) arrivals.add(() => taken++);
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      await turn();
      counts.push(taken);
    }
    expect(counts).toEqual([64, 128, 150, 150]);
  });

  it('that were read together share a question, which is asked with the first', async () => {
    const log: string[] = [];
    const arrivals = new Arrivals(questions(log), true);
    await event();
    arrivals.add(() => log.push('other'));
    arrivals.addRead(() => log.push('first'));
    expect(log).toEqual(['ask 1']);
    arrivals.addRead(() => log.push('second'));
    await turn();
    expect(log).toEqual(['ask 1', 'other', 'share 1', 'first', 'share 1', 'second']);
    // At the end of a round, what is taken up in the next may have been sent after the question.
    arrivals.addRead(() => log.push('third'));
    await turn();
    expect(log.slice(6)).toEqual(['ask 2', 'third']);
  });
});

/** Questions that can be asked ahead, and what shares them. */
function questions(log: string[]): () => (handle: () => void) => void {
  let asked = 0;
  return () => {
    const number = ++asked;
    log.push(`ask ${number}`);
    return (handle) => {
      log.push(`share ${number}`);
      handle();
    };
  };
}
