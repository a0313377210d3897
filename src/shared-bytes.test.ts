/** Proves that bytes are copied to where they belong, and nothing beside them, from and to memory of every kind. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyBytes } from './shared-bytes.ts';

const own = (bytes: number): Buffer => Buffer.alloc(bytes);
const shared = (bytes: number): Buffer => Buffer.from(new SharedArrayBuffer(bytes));
const memory = fc.constantFrom(own, shared);

test('any part of any length', () => {
  const part = fc.record({
    before: fc.nat(20),
    length: fc.oneof(fc.nat(40), fc.nat(3000)),
    after: fc.nat(20),
  });
  fc.assert(
    fc.property(memory, memory, part, fc.nat(30), (from, to, { before, length, after }, at) => {
      const source = from(before + length + after);
      for (let i = 0; i < source.length; i++) source[i] = (i * 7) % 251;
      const target = to(at + length + 5).fill(255);
      const expected = Buffer.concat([
        Buffer.alloc(at, 255),
        Buffer.from(source).subarray(before, before + length),
        Buffer.alloc(5, 255),
      ]);
      expect(copyBytes(source, target, at, before, before + length)).toBe(at + length);
      expect(target.equals(expected)).toBe(true);
    }),
  );
});

test('a whole source, also an empty one', () => {
  for (const length of [0, 1, 255, 256, 257]) {
    const source = shared(length).fill(9);
    const target = own(length + 2);
    expect(copyBytes(source, target, 1)).toBe(length + 1);
    expect(target.equals(Buffer.from([0, ...source, 0]))).toBe(true);
  }
});
