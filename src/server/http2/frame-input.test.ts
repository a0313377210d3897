import { expect, it } from 'vitest';
import { FrameInput } from './frame-input.ts';

it('keeps a frame that comes byte by byte in memory of its own', () => {
  const input = new FrameInput();
  const byte = Buffer.alloc(1);
  input.add(Buffer.from('head'));
  input.giveBack(input.take()!, 5_000);
  for (let i = 4; i < 5_000; i++) {
    expect(input.take()).toBeUndefined();
    byte.fill(i);
    // The same memory for each: what is not copied is overwritten.
    input.add(byte);
  }
  const all = input.take()!;
  expect(all.length).toBe(5_000);
  expect(String(all.subarray(0, 4))).toBe('head');
  for (let i = 4; i < 5_000; i++) if (all[i] !== i % 256) expect(`${i}: ${all[i]}`).toBe(i % 256);
  expect(input.take()).toBeUndefined();
});
