/** Proves that nobody can take everything, that latecomers find room, and that what is given back can be taken again. */
import { describe, expect, it } from 'vitest';
import { FairShare } from './fair-share.ts';

const takeAll = (share: FairShare, owner: string): number => {
  let count = 0;
  while (share.take(owner)) count++;
  return count;
};

describe('a fair share', () => {
  it('leaves the others a half of what is left, again and again', () => {
    const share = new FairShare(64);
    expect(['a', 'b', 'c', 'd'].map((owner) => takeAll(share, owner))).toEqual([32, 16, 8, 4]);
    expect(share.take('a')).toBe(false);
  });

  it('can be taken again when it was given back', () => {
    const share = new FairShare(4);
    expect(takeAll(share, 'a')).toBe(2);
    share.give('a', 2);
    expect(share.taken).toBe(0);
    expect(takeAll(share, 'b')).toBe(2);
  });

  it('has room for one when there is only one', () => {
    expect(takeAll(new FairShare(1), 'a')).toBe(1);
  });

  it('takes nothing when there is not enough', () => {
    const share = new FairShare(100);
    expect(share.take('a', 51)).toBe(false);
    expect(share.taken).toBe(0);
    expect(share.take('a', 50)).toBe(true);
  });
});
