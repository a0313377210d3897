/** Proves that two changes of one text are merged, and that only lines that both changed differently are a conflict. */
import { describe, expect, test } from 'vitest';
import { mergedText, mergeThree } from './three-way.ts';

const lines = (...list: string[]): string => list.join('\n');
const base = lines('a', 'b', 'c', 'd', 'e', 'f');

describe('three-way merges', () => {
  test('changes of different lines are merged', () => {
    const pieces = mergeThree(
      base,
      lines('a', 'B', 'c', 'd', 'e', 'f'),
      lines('a', 'b', 'c', 'd', 'e', 'F', 'g'),
    );
    expect(pieces.map(({ kind }) => kind)).toEqual(['same', 'mine', 'same', 'theirs']);
    expect(mergedText(pieces, [])).toBe(lines('a', 'B', 'c', 'd', 'e', 'F', 'g'));
  });

  test('the same change on both sides is no conflict', () => {
    const both = lines('a', 'b', 'x', 'd', 'e', 'f');
    expect(mergedText(mergeThree(base, both, both), [])).toBe(both);
  });

  test('a conflict is decided by choice', () => {
    const pieces = mergeThree(
      base,
      lines('a', 'b', 'mine', 'd', 'e', 'f'),
      lines('a', 'b', 'theirs', 'e', 'f'),
    );
    expect(pieces.filter(({ kind }) => kind === 'conflict')).toEqual([
      { kind: 'conflict', base: ['c', 'd'], mine: ['mine', 'd'], theirs: ['theirs'] },
    ]);
    expect(mergedText(pieces, ['mine'])).toBe(lines('a', 'b', 'mine', 'd', 'e', 'f'));
    expect(mergedText(pieces, ['theirs'])).toBe(lines('a', 'b', 'theirs', 'e', 'f'));
  });
});
