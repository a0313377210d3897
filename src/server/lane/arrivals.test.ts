import { stat } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Arrivals, SessionArrivals } from './arrivals.ts';

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
    const arrivals = new Arrivals(undefined, true, () => 0);
    let taken = 0;
    for (let i = 0; i < 150; i++) arrivals.add(() => taken++);
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      await turn();
      counts.push(taken);
    }
    expect(counts).toEqual([64, 128, 150, 150]);
  });

  it('of sessions take turns, so that one with many does not delay the others', async () => {
    const arrivals = new Arrivals(undefined, true, () => 0);
    const [many, few, two] = [new SessionArrivals(), new SessionArrivals(), new SessionArrivals()];
    const taken: string[] = [];
    for (let i = 0; i < 100; i++) arrivals.addOf(many, () => taken.push(`many ${i}`));
    arrivals.addOf(few, () => taken.push('few'));
    for (let i = 0; i < 2; i++) arrivals.addOf(two, () => taken.push(`two ${i}`));
    arrivals.add(() => taken.push('plain'));
    await turn();
    expect(taken.slice(0, 7)).toEqual(['plain', 'many 0', 'few', 'two 0', 'many 1', 'two 1', 'many 2']);
    expect(taken.length).toBe(17);
    // One that comes while others wait is handled in the next tick.
    arrivals.addOf(few, () => taken.push('late'));
    arrivals.add(() => taken.push('late and plain'));
    await turn();
    expect(taken.slice(17, 20)).toEqual(['late and plain', 'late', 'many 13']);
    for (let i = 0; i < 6; i++) await turn();
    expect(taken.filter((each) => each.startsWith('many'))).toEqual(
      Array.from({ length: 100 }, (_, i) => `many ${i}`),
    );
  });

  it('of sessions are fewer a turn while they take long, and as many as before when they do not', async () => {
    let nowMs = 0;
    let costMs = 1;
    const arrivals = new Arrivals(undefined, true, () => nowMs);
    let taken = 0;
    const session = new SessionArrivals();
    for (let i = 0; i < 400; i++)
      arrivals.addOf(session, () => {
        taken++;
        // What a request leads to in the same turn counts, too.
        void Promise.resolve().then(() => {
          nowMs += costMs;
        });
      });
    const counts = async (turns: number): Promise<number[]> => {
      const each: number[] = [];
      for (let i = 0; i < turns; i++) {
        const before = taken;
        await turn();
        each.push(taken - before);
      }
      return each;
    };
    expect(await counts(6)).toEqual([16, 8, 4, 2, 3, 4]);
    costMs = 0;
    expect(await counts(3)).toEqual([2, 3, 4]);
    expect((await counts(14)).at(-1)).toBe(16);
  });

  it('of sessions with one request come before those that have many, and leave these half of the turn', async () => {
    const arrivals = new Arrivals(undefined, true, () => 0);
    const taken: string[] = [];
    const sessions = Array.from({ length: 40 }, () => new SessionArrivals());
    for (const session of sessions)
      for (let i = 0; i < 10; i++) arrivals.addOf(session, () => taken.push('many'));
    for (let i = 0; i < 6; i++) await turn();
    taken.length = 0;
    arrivals.addOf(new SessionArrivals(), () => taken.push('one'));
    await turn();
    expect(taken[0]).toBe('one');
    taken.length = 0;
    for (let i = 0; i < 40; i++) arrivals.addOf(new SessionArrivals(), () => taken.push('one'));
    await turn();
    expect(taken.filter((each) => each === 'one').length).toBe(8);
  });

  it('of sessions are handled at once where requests are not handled together', () => {
    const arrivals = new Arrivals(undefined, false);
    let taken = 0;
    arrivals.addOf(new SessionArrivals(), () => taken++);
    expect(taken).toBe(1);
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
