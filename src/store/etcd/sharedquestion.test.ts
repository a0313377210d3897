import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SharedQuestion } from './sharedquestion.ts';

interface Asked {
  readonly answer: (value: number) => void;
  readonly fail: (error: Error) => void;
}

function questions(): { asked: Asked[]; question: SharedQuestion<number> } {
  const asked: Asked[] = [];
  const ask = (): Promise<number> =>
    new Promise((answer, fail) => {
      asked.push({ answer, fail });
    });
  return { asked, question: new SharedQuestion(ask) };
}

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

  it('is asked anew before callers of the one before go on', async () => {
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
});
