/** Proves that long JSON is read in several turns of the event loop, and short JSON at once. */
import { expect, it } from 'vitest';
import { readSentJson } from './sliced-json.ts';

it('reads long text in turns', async () => {
  const value = Array.from({ length: 40_000 }, (_, i) => ({ manager: `m${i}`, fields: { [`f:${i}`]: {} } }));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const text = JSON.stringify(value);
  const read = await readSentJson(Buffer.from(text));
  isOver = true;
  expect(JSON.stringify(read.value) === text).toBe(true);
  expect(turns).toBeGreaterThan(3);
});

it('reads short text at once', () => {
  expect(readSentJson(Buffer.from('{"a":1,"a":2}'))).toEqual({
    value: { a: 2 },
    duplicates: [{ path: 'a', after: 'a' }],
  });
});
