/** Proves that values are stepped over as a whole, and that what is not one has no end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringEnd, valueEnd } from './json-bytes.ts';

const endOf = (text: string, start = 0): number => valueEnd(Buffer.from(text), start);

test.each(['1', '-1.5e3', 'true', 'null', '""', '"a\\"\\\\"', '{}', '[]', '{"a":[1,{"b":"]}"}]}'])(
  '%s',
  (value) => {
    for (const behind of [',"next":1}', '}', ']', ',1]'])
      expect(endOf(`${value}${behind}`)).toBe(value.length);
  },
);

test('any value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(endOf(`[${text},${text}]`, 1)).toBe(1 + Buffer.byteLength(text));
    }),
  );
});

test.each(['', ',', '}', '"a', '"a\\"', '{"a":', '{ }', '1 ', '"a\n"'])('%j has no end', (text) => {
  expect(endOf(text)).toBe(-1);
});

test('a string ends with its own quote', () => {
  const text = Buffer.from('{"a\\\\":"b\\"","c":1}');
  expect(stringEnd(text, 1)).toBe(6);
  expect(stringEnd(text, 7)).toBe(12);
});
