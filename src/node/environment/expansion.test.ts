/** Proves that variable references are expanded as in Kubernetes, for any text, within bounds of size and time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { ExpansionError, expand } from './expansion.ts';

const variables = new Map([
  ['VAR_A', 'A'],
  ['VAR_B', 'B'],
  ['VAR_EMPTY', ''],
  ['VAR_REF', '$(VAR_A)'],
  ['with space', 'S'],
  ['$(VAR_A', 'odd'],
]);
const plain = (text: string, charsMax = 10_000): string =>
  expand(text, (name) => variables.get(name), charsMax);

describe('expansion', () => {
  it.each([
    ['$(VAR_A)', 'A'],
    ['___$(VAR_B)___', '___B___'],
    ['$(VAR_A)$(VAR_B)', 'AB'],
    ['$(VAR_EMPTY)', ''],
    ['$(VAR_REF)', '$(VAR_A)'],
    ['$$(VAR_A)', '$(VAR_A)'],
    ['$$$(VAR_A)', '$A'],
    ['$$$$(VAR_A)', '$$(VAR_A)'],
    ['foo$$bar', 'foo$bar'],
    ['$(VAR_DNE)', '$(VAR_DNE)'],
    ['$(VAR_DNE)$(VAR_A)', '$(VAR_DNE)A'],
    ['$()', '$()'],
    ['$VAR_A', '$VAR_A'],
    ['$[VAR_A]', '$[VAR_A]'],
    ['$?_$!', '$?_$!'],
    ['$', '$'],
    ['a$', 'a$'],
    ['$(VAR_A', '$(VAR_A'],
    ['$(VAR_A$$', '$(VAR_A$'],
    ['$($(VAR_A)', 'odd'],
    ['$(with space)', 'S'],
    ['ß$(VAR_A)$ß😀$(VAR_B)', 'ßA$ß😀B'],
  ])('makes %j to %j', (text, expected) => {
    // Proves each rule.
    expect(plain(text)).toBe(expected);
  });

  it('agrees with a description of the rules for any text', () => {
    // Proves the scanner against the rules as one regular expression: `$$`, or `$(` up to the next `)`.
    const piece = fc.constantFrom('$', '$$', '(', ')', '$(', 'VAR_A', 'VAR_B', '$(VAR_A)', 'x', ' ', '😀');
    const model = (text: string): string =>
      text.replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name?: string) =>
        name === undefined ? '$' : (variables.get(name) ?? whole),
      );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(plain(pieces.join(''))).toBe(model(pieces.join('')));
      }),
      { numRuns: rounds(2000) },
    );
  });

  it('leaves text without references alone, and doubles of dollars halve', () => {
    // Proves that expanding an escaped text gives the text.
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(plain(text.replaceAll('$', '$$$$'))).toBe(text);
      }),
    );
  });

  it('stops at its bound while it grows', () => {
    // Proves that variables which refer to each other cannot exhaust the memory.
    const big = 'x'.repeat(60);
    expect(() => expand('$(B)$(B)', () => big, 100)).toThrow(ExpansionError);
    expect(expand('$(B)', () => big, 60)).toBe(big);
  });

  it('reads text full of beginnings in one pass', () => {
    // Proves linear time: with 200,000 unclosed references, quadratic time would take minutes.
    const text = '$('.repeat(200_000);
    expect(plain(text, text.length)).toBe(text);
  });
});
