/** Proves that whole numbers beyond 2^53 survive reading and writing, and that all other JSON is read as by JSON.parse. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { exactNumber, mayHoldLongNumbers, parseExact, parseLongNumbers } from './exact-json.ts';
import { readJson, readJsonText } from './json.ts';
import { jsonText } from './json-text.ts';

/** The value as JSON.parse would have made it. */
const inDoubles = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? Number(member) : member)),
  );

describe('a number', () => {
  it.each<[string, number | bigint]>([
    ['0', 0],
    ['-0', 0],
    ['007', 7],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['+18446744073709551616', 18446744073709551616n],
    ['1e3', 1000],
    ['1e22', 1e22],
    ['0.1', 0.1],
    ['-0.30000000000000004', -0.30000000000000004],
    ['1.50000000000000000000', 1.5],
    ['1e400', Number.POSITIVE_INFINITY],
    ['-1e400', Number.NEGATIVE_INFINITY],
    ['1.0000000000000000001', Number.NaN],
    ['12345678901234567890e2', Number.NaN],
    ['1e-400', Number.NaN],
    ['0e-400', 0],
  ])('%s is exact, or none', (token, value) => {
    expect(exactNumber(token)).toBe(value);
  });

  it('is whole and exact whatever its size', () => {
    fc.assert(fc.property(fc.bigInt(), (number) => BigInt(exactNumber(String(number))) === number));
  });

  it('of any double is that double', () => {
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (number) =>
        Object.is(Number(exactNumber(String(number))), number + 0),
      ),
    );
  });

  it('costs no more than its length', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(exactNumber(`0.${zeros}1`)).toBeNaN();
    expect(exactNumber(`1${zeros}`)).toBe(Number.POSITIVE_INFINITY);
    expect(exactNumber(`1.${zeros}`)).toBe(1);
  });
});

describe('JSON text', () => {
  test('is read by the slow reader as by JSON.parse', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(0, 1, 2, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        const parsed = JSON.parse(text);
        expect(inDoubles(parseLongNumbers(text))).toEqual(parsed);
      }),
    );
  });

  test('keeps keys of any name as own keys', () => {
    const value = parseLongNumbers('{"__proto__":{"a":[1,{}]},"toString":"\\"\\\\","a":[]}') as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'toString', 'a']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test('with large numbers is written as it was read', () => {
    const text = '{"a":[9007199254740993,{"b":-18446744073709551617}],"c":"9007199254740993","d":{},"e":[]}';
    expect(jsonText(parseExact(text))).toBe(text);
    expect(jsonText(readJson(Buffer.from(text)).value)).toBe(text);
    expect(parseExact(jsonText(parseExact(text), 2))).toEqual(parseExact(text));
  });

  test('is indented like that without large numbers', () => {
    const like = { a: [1, { b: 'x', gone: undefined }], c: {}, d: [], e: null };
    const large = { ...like, a: [1n, { b: 'x', gone: undefined }] };
    expect(jsonText(large, 2)).toBe(JSON.stringify(like, null, 2));
    expect(jsonText(large)).toBe(JSON.stringify(like));
  });

  test('is known to hold a long number wherever it stands', () => {
    for (let before = 0; before < 40; before++)
      for (const number of ['1234567890123456', '12345678.12345678', '9007199254740993'])
        expect(mayHoldLongNumbers(`${' '.repeat(before)}${number},`), `${before} ${number}`).toBe(true);
    for (let before = 0; before < 40; before++)
      expect(mayHoldLongNumbers(`${' '.repeat(before)}123456789012345,123456789012345 `)).toBe(false);
  });

  test('is looked at closely only when a number in it may be large', () => {
    expect(readJsonText('{"a":1e400,"b":9007199254740993}').value).toEqual({
      a: Number.POSITIVE_INFINITY,
      b: 9007199254740993n,
    });
    expect(readJsonText('{"a":1e-400}').value).toEqual({ a: Number.NaN });
  });
});
