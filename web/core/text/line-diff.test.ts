/** Proves that a difference, applied, makes the one text of the other, and is short. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff.ts';

const side = (lines: readonly { kind: string; text: string }[], without: string): string =>
  lines
    .filter(({ kind }) => kind !== without)
    .map(({ text }) => text)
    .join('\n');

describe('a difference', () => {
  it('holds both texts', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
      .map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        expect(side(lines, 'added')).toBe(before);
        expect(side(lines, 'removed')).toBe(after);
      }),
    );
  });

  it('shows a changed line as that', () => {
    expect(lineDiff('a\nb\nc', 'a\nx\nc').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'same a',
      'removed b',
      'added x',
      'same c',
    ]);
  });

  it('is bounded for texts that have nothing in common', () => {
    const many = (name: string): string => Array.from({ length: 3_000 }, (_, i) => `${name}${i}`).join('\n');
    expect(lineDiff(many('a'), many('b'))).toHaveLength(6_000);
  });
});
