/** Proves that buffers of bytes that have passed through are let go of soon. */
import { memoryUsage } from 'node:process';
import { expect, it } from 'vitest';
import { passed } from './passingbytes.ts';

const pieceBytes = 64 * 1024;

it('keeps no more than some megabytes of what has passed', () => {
  const before = memoryUsage().arrayBuffers;
  let most = 0;
  for (let i = 0; i < 4_000; i++) {
    const piece = new Uint8Array(pieceBytes);
    passed(piece.length);
    if (i % 50 === 0) most = Math.max(most, memoryUsage().arrayBuffers - before);
  }
  expect(most).toBeLessThan(40e6);
});
