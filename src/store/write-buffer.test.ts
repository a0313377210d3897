// Proves that nothing of a transaction can be read from its sheet when the next begins.
import { expect, it } from 'vitest';
import { poisonByte } from '../switches.ts';
import { USUAL_BYTES, WriteBuffer } from './write-buffer.ts';

it.each([
  ['that fits', 1],
  ['with memory of its own', 40_000],
])('overwrites a transaction %s when it is cleared', (_, names) => {
  const sheet = new WriteBuffer();
  for (let i = 0; i < names; i++) sheet.putMeta(`revision ${i}`, i);
  const bytes = Buffer.from(sheet.memory, 0, sheet.end);
  expect(sheet.memory.byteLength > USUAL_BYTES).toBe(names > 1);
  sheet.clear();
  expect(sheet.end).toBe(0);
  expect(bytes.every((byte) => byte === poisonByte)).toBe(true);
});
