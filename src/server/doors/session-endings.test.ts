/** Proves that few requests end in a turn when connections close, and more when very many wait. */
import { expect, it } from 'vitest';
import { type EndingStream, SessionEndings } from './session-endings.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function streamsOf(name: string, count: number, ended: string[]): EndingStream[] {
  return Array.from({ length: count }, () => ({
    close: (code) => void ended.push(`${name} ${code}`),
    destroy: () => undefined,
  }));
}

it('the requests of closed connections end a few in each turn, and then their session', async () => {
  const endings = new SessionEndings();
  const ended: string[] = [];
  endings.add(streamsOf('a', 20, ended), () => ended.push('a is over'));
  endings.add(streamsOf('b', 3, ended), () => ended.push('b is over'));
  expect(ended).toEqual([]);
  const lengths: number[] = [];
  for (let i = 0; i < 4; i++) {
    await nextTurn();
    lengths.push(ended.length);
  }
  expect(lengths).toEqual([8, 16, 25, 25]);
  expect(ended.slice(19)).toEqual(['a 8', 'a is over', 'b 8', 'b 8', 'b 8', 'b is over']);
});

it('a session with one request or without ends at once', () => {
  const ended: string[] = [];
  const endings = new SessionEndings();
  endings.add([], () => ended.push('a is over'));
  endings.add(streamsOf('b', 1, ended), () => ended.push('b is over'));
  expect(ended).toEqual(['a is over', 'b 8', 'b is over']);
});

it('more end in a turn when very many wait, so that these do not grow', async () => {
  const endings = new SessionEndings();
  const ended: string[] = [];
  const lengths: number[] = [];
  for (let i = 0; i < 60; i++) {
    endings.add(streamsOf('a', 100, ended), () => undefined);
    const before = ended.length;
    await nextTurn();
    lengths.push(ended.length - before);
  }
  expect(lengths[0]).toBe(8);
  expect(lengths.at(-1)).toBeGreaterThan(80);
});
