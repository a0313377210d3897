/**
 * Texts of any characters, for tests that make up their cases. As `fc.string({ unit: 'binary' })`, which puts each of a
 * million characters into a map before its first text: seconds, and a hundred megabytes in every worker.
 */
import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };
const lastCharacter = 0x10ffff;

const character = fc.nat(lastCharacter - surrogates.count).map(
  (place) => String.fromCodePoint(place < surrogates.first ? place : place + surrogates.count),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text) throw new Error('not a character');
    if (code < surrogates.first) return code;
    if (code < surrogates.first + surrogates.count) throw new Error('half of a character');
    return code - surrogates.count;
  },
);

export const anyText = (bounds: fc.StringSharedConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...bounds, unit: character });
