/** Proves that what is written as YAML is read as the same value. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { rounds } from '../../../test/support/tier.ts';
import { yamlText } from './yaml-text.ts';

describe('YAML', () => {
  it('is read as what was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(parse(yamlText(plain))).toEqual(plain);
      }),
      { numRuns: rounds(300) },
    );
  });

  it('keeps lines of text as lines', () => {
    const value = { a: 'one\ntwo\n', b: ['x', { c: 'p\n\nq' }], d: 'no', e: '1', f: '', g: [], h: {} };
    expect(parse(yamlText(value))).toEqual(value);
    expect(yamlText(value)).toContain('a: |\n  one\n  two\n');
  });
});
