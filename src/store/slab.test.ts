/** Slabs: buffers that share memory which V8 does not count do not share bytes. */
import { expect, test } from 'vitest';
import { optimized } from '../switches.ts';
import { Slabs } from './slab.ts';

test('buffers of all lengths keep their bytes, whatever comes after them', () => {
  const slabs = new Slabs();
  const lengths = Array.from({ length: 300 }, (_, i) => (i * 7919) % 9001);
  const taken = lengths.map((length, i) => slabs.take(length).fill(i % 256));
  for (const [i, buffer] of taken.entries()) {
    expect(buffer.length).toBe(lengths[i]);
    expect(buffer.every((byte) => byte === i % 256)).toBe(true);
  }
});

test.runIf(optimized)('small buffers share memory that V8 does not count, large ones have their own', () => {
  const slabs = new Slabs();
  const { external } = process.memoryUsage();
  const first = slabs.take(2000);
  expect(slabs.take(2000).buffer).toBe(first.buffer);
  expect(first.buffer).toBeInstanceOf(SharedArrayBuffer);
  expect(process.memoryUsage().external).toBeLessThan(external + first.buffer.byteLength);
  expect(slabs.take(100_000).buffer.byteLength).toBe(100_000);
});
