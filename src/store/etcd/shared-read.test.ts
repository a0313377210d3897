import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SharedRead } from './shared-read.ts';

interface Asked {
  readonly answer: (value: number) => void;
  readonly fail: (error: Error) => void;
}

function questions(): { asked: Asked[]; question: SharedRead<number> } {
  const asked: Asked[] = [];
  const ask = (): Promise<number> =>
    new Promise((answer, fail) => {
      asked.push({ answer, fail });
    });
  return { asked, question: new SharedRead(ask) };
}

/** A question that was answered, whose callers have much to do and went on, while one more waits for the next. */
async function answeredBusily(): Promise<ReturnType<typeof questions> & { early: Promise<number> }> {
  const { asked, question } = questions();
  // What callers have to do is measured: this one takes many times as long as its question.
  const busy = question.answer().then(() => {
    const endMs = performance.now() + 20;
    while (performance.now() < endMs);
  });
  await nextTick();
  asked.shift()!.answer(0);
  await busy;
  await setImmediate();
  await setImmediate();
  const all = Array.from({ length: 30 }, () => question.answer());
  await setImmediate();
  const early = question.answer();
  asked[0]!.answer(1);
  await Promise.all(all);
  return { asked, question, early };
}

const nextTick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

describe('a shared question', () => {
  it('is never answered by one that was asked before', async () => {
    const { asked, question } = questions();
    const first = question.answer();
    await setImmediate();
    expect(asked.length).toBe(1);
    const others = [question.answer(), question.answer()];
    await setImmediate();
    expect(asked.length).toBe(1);
    asked[0]!.answer(1);
    expect(await first).toBe(1);
    expect(asked.length).toBe(2);
    asked[1]!.answer(2);
    expect(await Promise.all(others)).toEqual([2, 2]);
    expect(asked.length).toBe(2);
  });

  it('is one for all callers of a tick', async () => {
    const { asked, question } = questions();
    const all = Array.from({ length: 100 }, () => question.answer());
    await setImmediate();
    expect(asked.length).toBe(1);
    asked[0]!.answer(7);
    expect(await Promise.all(all)).toEqual(Array.from({ length: 100 }, () => 7));
  });

  it('whose callers have little to do is asked anew before they go on', async () => {
    const { asked, question } = questions();
    let served = 0;
    const all = Array.from({ length: 40 }, () => question.answer().then(() => served++));
    await setImmediate();
    const later = question.answer();
    asked[0]!.answer(1);
    await Promise.resolve();
    expect([asked.length, served]).toEqual([2, 0]);
    await Promise.all(all);
    asked[1]!.answer(2);
    expect(await later).toBe(2);
  });

  it('fails for all who asked it, and for nobody else', async () => {
    const { asked, question } = questions();
    const all = Array.from({ length: 20 }, () => question.answer());
    await setImmediate();
    const later = question.answer();
    asked[0]!.fail(new Error('no leader'));
    for (const { status } of await Promise.allSettled(all)) expect(status).toBe('rejected');
    asked[1]!.answer(3);
    expect(await later).toBe(3);
  });

  it('asked ahead is shared by the calls that it was for, and by those who waited', async () => {
    const { asked, question } = questions();
    const waiting = question.answer();
    const share = question.prefetchRevision()!;
    expect(asked.length).toBe(1);
    const shared: Promise<number>[] = [];
    share(() => shared.push(question.answer(), question.answer()));
    const later = question.answer();
    asked[0]!.answer(5);
    expect(await Promise.all([waiting, ...shared])).toEqual([5, 5, 5]);
    // After the answer, too: those who it was for may come late.
    share(() => shared.push(question.answer()));
    expect(await shared[2]).toBe(5);
    expect(asked.length).toBe(2);
    asked[1]!.answer(6);
    expect(await later).toBe(6);
  });

  it('asked ahead is one at a time, and may fail without a caller', async () => {
    const { asked, question } = questions();
    expect(question.prefetchRevision()).toBeDefined();
    expect(question.prefetchRevision()).toBeUndefined();
    asked[0]!.fail(new Error('no leader'));
    await setImmediate();
    await setImmediate();
    const share = question.prefetchRevision()!;
    let shared: Promise<number> | undefined;
    share(() => {
      shared = question.answer();
    });
    asked[1]!.answer(1);
    expect(await shared).toBe(1);
  });

  it('is not shared any more after a call that threw', async () => {
    const { asked, question } = questions();
    const share = question.prefetchRevision()!;
    expect(() =>
      share(() => {
        throw new Error('this request failed');
      }),
    ).toThrow('this request failed');
    const later = question.answer();
    asked[0]!.answer(1);
    await setImmediate();
    asked[1]!.answer(2);
    expect(await later).toBe(2);
  });

  it('whose callers have much to do lets them go on before the next, which those share who come right after', async () => {
    const { asked, question, early } = await answeredBusily();
    expect(asked.length).toBe(1);
    const share = question.prefetchRevision()!;
    expect(asked.length).toBe(2);
    let next: Promise<number> | undefined;
    share(() => {
      next = question.answer();
    });
    asked[1]!.answer(2);
    expect(await Promise.all([early, next])).toEqual([2, 2]);
    expect(asked.length).toBe(2);
  });

  it('whose callers have much to do is asked soon for others, also when nobody comes', async () => {
    const { asked, early } = await answeredBusily();
    for (let turns = 0; asked.length < 2 && turns < 3; turns++) await setImmediate();
    asked[1]!.answer(2);
    expect(await early).toBe(2);
  });
});
