/** Proves that changes of labels are read as kubectl reads them. */
import { describe, expect, it } from 'vitest';
import { labelChanges } from './label-changes.ts';

describe('changes of labels', () => {
  it('set and remove', () => {
    expect(labelChanges(' tier=web  a/b= old- x=a=b ')).toEqual({
      tier: 'web',
      'a/b': '',
      old: null,
      x: 'a=b',
    });
  });

  it.each(['', 'tier', '=web', '-'])('“%s” is refused', (text) => {
    expect(() => labelChanges(text)).toThrow();
  });
});
