/** Proves which texts are taken for base64, short and long: the two are checked in different ways. */
import { expect, it } from 'vitest';
import { decodeObject } from './decode.ts';
import { findModel } from './model.ts';

const decoded = (a: string): unknown => decodeObject(findModel('Secret')!, { data: { a } });

it.each([4, 40_000])('bytes of %i characters are base64, with line breaks and any last bits', (length) => {
  const text = `${'ab+/'.repeat(length / 4 - 1)}abc=`;
  // Its last bits are lost in decoding: what is encoded again is another text.
  const loose = `${text.slice(0, -2)}d=`;
  for (const one of [text, loose, `${text.slice(0, 2)}\r\n${text.slice(2)}`])
    expect(decoded(one)).toMatchObject({ data: { a: one.replace(/\s/g, '') } });
  for (const [bad, at] of [
    [`-${text.slice(1)}`, 0],
    [`${text.slice(0, 3)}_${text.slice(4)}`, 3],
    [`${text.slice(0, -4)}ab`, length - 4],
  ] as const)
    expect(() => decoded(bad)).toThrow(`illegal base64 data at input byte ${at}`);
});
