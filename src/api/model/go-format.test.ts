/** Proves that values look in messages as Go prints them, and never make a message long. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cannotUnmarshal, formatCharsMax, goFormat, goFormatText, goKind, goType } from './go-format.ts';

test.each([
  [{ image: 'q' }, 'map[image:q]'],
  [{ b: 1, a: { d: null, c: [] } }, 'map[a:map[c:[] d:<nil>] b:1]'],
  [['a', 'b', { c: true }], '[a b map[c:true]]'],
  [{}, 'map[]'],
  ['a b', 'a b'],
  [null, '<nil>'],
  [-1.5, '-1.5'],
  [JSON.parse('{"__proto__":1,"constructor":2}'), 'map[__proto__:1 constructor:2]'],
])('%j as %%v is %s', (value, text) => {
  expect(goFormat(value)).toBe(text);
});

test.each([
  ['merge', 'merge'],
  [5, '%!s(int64=5)'],
  [0.5, '%!s(float64=0.5)'],
  [false, '%!s(bool=false)'],
  [null, '%!s(<nil>)'],
  [['a'], '[a]'],
])('%j as %%s is %s', (value, text) => {
  expect(goFormatText(value)).toBe(text);
});

test.each([
  ['x', 'string', 'string', 'string'],
  [1, 'int64', 'int64', 'number'],
  [1.5, 'float64', 'float64', 'number'],
  [true, 'bool', 'bool', 'bool'],
  [[], '[]interface {}', 'slice', 'array'],
  [{}, 'map[string]interface {}', 'map', 'object'],
  [null, '%!s(<nil>)', 'invalid', 'null'],
])('%j is of type %s and kind %s', (value, type, kind, word) => {
  expect(goType(value)).toBe(type);
  expect(goKind(value)).toBe(kind);
  expect(cannotUnmarshal(value, 'value of type T')).toBe(
    `json: cannot unmarshal ${word} into Go value of type T`,
  );
});

test('text ends at its limit and says so', () => {
  expect(goFormat({ a: 'bcd' }, 10)).toBe('map[a:bcd]');
  expect(goFormat({ a: 'bcd' }, 9)).toBe('map[a:bcd...');
  expect(goFormat(['abc', 'def'], 5)).toBe('[abc ...');
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(40), (value, charsMax) => {
      const whole = goFormat(value);
      const cut = goFormat(value, charsMax);
      expect(cut).toBe(whole.length <= charsMax ? whole : `${whole.slice(0, charsMax)}...`);
    }),
  );
  expect(goFormat(Array.from({ length: 100_000 }, String))).toHaveLength(formatCharsMax + 3);
});
