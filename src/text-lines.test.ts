/** Proves that lines are found whatever the pieces are, and that a long one costs no more than its length. */
import { expect, it } from 'vitest';
import { TextLines } from './text-lines.ts';

const taken = (pieces: readonly string[], charactersMax = 100): [lines: string[], rest: string] => {
  const lines = new TextLines(charactersMax);
  return [pieces.flatMap((piece) => lines.take(piece)), lines.rest];
};

it('finds lines in pieces of every length', () => {
  const text = 'one\ntwo\n\nthree\nfour';
  for (let length = 1; length <= text.length; length++) {
    const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g'))!;
    expect(taken(pieces)).toEqual([['one', 'two', '', 'three'], 'four']);
  }
});

it('drops what a line has beyond its bound, and goes on with the next', () => {
  expect(taken(['aaaa', 'bbbb', 'cccc', 'dd\nnext\n'], 6)).toEqual([['aaaabbbb', 'next'], '']);
});

it('puts a line together once', () => {
  const piece = 'x'.repeat(1_000);
  const timeOf = (count: number): number => {
    const lines = new TextLines(Number.POSITIVE_INFINITY);
    const { user } = process.cpuUsage();
    for (let i = 0; i < count; i++) lines.take(piece);
    expect(lines.take('\n')).toEqual([piece.repeat(count)]);
    return process.cpuUsage().user - user;
  };
  timeOf(500);
  // Copied with each piece, 40 MB would be 800 GB.
  expect(timeOf(40_000)).toBeLessThan(5_000_000);
});
