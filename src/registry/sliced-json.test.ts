/** Proves that long JSON is read in several turns of the event loop, and short JSON at once. */
import { expect, it } from 'vitest';
import { turnsDuring } from '../../test/support/turns.ts';
import { readSentJson } from './sliced-json.ts';

it('reads long text in turns', async () => {
  const value = Array.from({ length: 40_000 }, (_, i) => ({ manager: `m${i}`, fields: { [`f:${i}`]: {} } }));
  const text = JSON.stringify(value);
  const { turns, result: read } = await turnsDuring(() => readSentJson(Buffer.from(text)));
  expect(JSON.stringify(read.value) === text).toBe(true);
  expect(turns).toBeGreaterThan(3);
});

it('reads short text at once', () => {
  expect(readSentJson(Buffer.from('{"a":1,"a":2}'))).toEqual({
    value: { a: 2 },
    duplicates: [{ path: 'a', after: 'a' }],
  });
});
