/**
 * Proves that a text that is not base64 is refused at the place that Go names. The table is what `StdEncoding.DecodeString`
 * of Go 1.19's encoding/base64 said to each text.
 */
import { expect, it } from 'vitest';
import { base64ErrorAt, base64Of } from './base64.ts';
import { decodeObject } from './decode.ts';
import { findModel } from './model.ts';

/** Texts, and the byte at which Go finds an error; undefined where it finds none. */
const places: readonly [text: string, place: number | undefined][] = [
  ['a', 0],
  ['ab', 0],
  ['abc', 0],
  ['abcd', undefined],
  ['abcde', 4],
  ['abcdef', 4],
  ['abcdefg', 4],
  ['=', 0],
  ['==', 0],
  ['====', 0],
  ['a=', 1],
  ['a==', 1],
  ['a===', 1],
  ['ab=', 3],
  ['ab==', undefined],
  ['ab===', 4],
  ['abc=', undefined],
  ['abc==', 4],
  ['abc=a', 4],
  ['abc=ab', 4],
  ['ab==cd', 4],
  ['ab=c', 2],
  ['ab=cd', 2],
  ['abcd=', 4],
  ['abcd==', 4],
  ['abcdab=', 7],
  ['abcdef==', undefined],
  ['abcdefg=x', 8],
  ['abcdefg=\nx', 9],
  ['\n', undefined],
  ['a\n', 1],
  ['ab\nc', 1],
  ['abc\n\n', 2],
  ['abcd\nef', 5],
  ['abcd\r\nefg', 6],
  ['abcdef=\n', 8],
  ['abcdef=\n=', undefined],
  ['abcdef\n=\r\n=\n', undefined],
  ['abcdef=\n-', 7],
  ['abcdef==\n\nx', 10],
  ['-', 0],
  ['ab-d', 2],
  ['abcd_', 4],
  ['abc=-', 4],
  ['ab=-', 2],
  ['ab==-', 4],
  ['abé=', 2],
  ['é', 0],
  ['abcd efg=', 4],
  ['abcdabcdabcdabcd-', 16],
  ['abcdabcdabcdabcd=', 16],
  ['ab\u0000d', 2],
  ['aaaaaaaaa', 8],
  ['AAA=AAA=', 4],
  ['AA==AA==', 4],
];

it.each(places)('%j as Go', (text, place) => {
  // Long texts are checked in another way.
  for (const before of ['', 'ab+/'.repeat(2_000)]) {
    const value = before + text;
    const bytes = Buffer.from(value, 'base64').toString('hex');
    if (place === undefined) expect(Buffer.from(base64Of(value)!, 'base64').toString('hex')).toBe(bytes);
    else expect([base64Of(value), base64ErrorAt(value)]).toEqual([undefined, before.length + place]);
  }
});

it('is what a client is told', () => {
  expect(() => decodeObject(findModel('Secret')!, { data: { a: 'abc=ab' } })).toThrow(
    'illegal base64 data at input byte 4',
  );
});
