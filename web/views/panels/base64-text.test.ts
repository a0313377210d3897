/** Proves that values of secrets are read and written as text, whatever their letters, and bytes are left alone. */
import { expect, it } from 'vitest';
import { bytesOf, decoded, encoded } from './base64-text.ts';

it.each(['', 'admin', 'zwölf ⚓', 'a\nb\tc'])('goes there and back: %j', (text) => {
  const base64 = encoded(text);
  expect(base64).toBe(Buffer.from(text).toString('base64'));
  expect(decoded(base64)).toBe(text);
  expect(bytesOf(base64)).toBe(Buffer.byteLength(text));
});

it('takes bytes for no text', () => {
  expect(decoded(Buffer.from([0xff, 0xfe, 0x00]).toString('base64'))).toBeUndefined();
  expect(decoded(Buffer.from([0, 1, 2]).toString('base64'))).toBeUndefined();
  expect(decoded('***')).toBeUndefined();
});
