import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { compileRegexp } from './go-regexp.ts';
import { nativeForm } from './native-regexp.ts';

/** Patterns of well-known definitions, and corners of the syntax. */
const patterns = [
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
  '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$',
  '^\\d{1,3}(\\.\\d{1,3}){3}$',
  '^.{1,5}$',
  'a|b|cd',
  '^a|b$',
  '[^a-c]+x',
  '[\\w-.]',
  '[a-c-]',
  '\\s\\S',
  '^$',
  'a*',
  '(?i)AbC',
  '[[:alpha:]]+',
  '[é-ü]+',
  '\\.\\-\\/',
  'x{2,}y',
  '(a|ab)(c|bcd)',
];
const texts = [
  '',
  'a',
  'abc',
  'a-b',
  'a.b',
  '-',
  'x\ny',
  '\r',
  'ü',
  '😀x',
  '1.2.3.4',
  '5ms3s',
  'xxxy',
  'abcd',
  'ABC',
  'baaac',
];

describe('compileRegexp', () => {
  it.each(patterns)('matches %s as the linear engine does', (pattern) => {
    const expression = compileRegexp(pattern);
    const linear = RE2JS.compile(pattern);
    for (const text of texts) {
      expect([text, expression.test(text)]).toEqual([text, linear.test(text)]);
      expect([text, expression.findAll(text)]).toEqual([text, linear.re2().findAll(text, -1) ?? []]);
    }
  });

  it('gives every pattern the same meaning on both engines', () => {
    const part = fc.constantFrom(
      'a',
      'b',
      '-',
      '.',
      '[ab]',
      '[^a]',
      '(',
      '(?:',
      ')',
      '|',
      '*',
      '+',
      '?',
      '{2}',
      '{0,1}',
      '^',
      '$',
      '\\d',
      '\\.',
    );
    const pattern = fc.array(part, { maxLength: 10 }).map((parts) => parts.join(''));
    const text = fc
      .array(fc.constantFrom('a', 'b', '-', '1', '\n', '.'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(pattern, text, (pattern, text) => {
        let linear: RE2JS;
        try {
          linear = RE2JS.compile(pattern);
        } catch {
          expect(() => compileRegexp(pattern)).toThrow(/^error parsing regexp: /);
          return;
        }
        expect(compileRegexp(pattern).findAll(text)).toEqual(linear.re2().findAll(text, -1) ?? []);
      }),
      { seed: Number(process.env.WHERRY_SEED ?? 1), numRuns: rounds(2000) },
    );
  });

  it.each([
    ['[a-', 'missing closing ]: `[a-`'],
    ['(?!a)', 'invalid or unsupported Perl syntax: `(?!`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['(', 'missing closing ): `(`'],
    ['[z-a]', 'invalid character class range: `z-a`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['*a', 'missing argument to repetition operator: `*`'],
    ['x{2,1}', 'invalid repeat count: `{2,1}`'],
  ])('refuses %s with the text of Go', (pattern, message) => {
    expect(() => compileRegexp(pattern)).toThrow(`error parsing regexp: ${message}`);
  });

  it('refuses huge patterns', () => {
    for (const pattern of [`(${'a'.repeat(1000)}){1000}`, 'a'.repeat(70_000), '('.repeat(60_000)])
      expect(() => compileRegexp(pattern)).toThrow('error parsing regexp: ');
  });

  it('runs catastrophic patterns in linear time', () => {
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(x+x+)+y', '.*.*.*=.*', 'a+a+a+b'])
      expect(compileRegexp(pattern).test(`${'ax'.repeat(50_000)}!`)).toBe(false);
  });

  it('leaves a long repetition, which is tried at every place of a text, to the engine of linear time', () => {
    const native = vi.spyOn(RegExp.prototype, 'test');
    const pattern = compileRegexp('[a-z]{1000}[0-9]');
    expect([pattern.test('a'.repeat(100)), pattern.test('a'.repeat(99_000))]).toEqual([false, false]);
    const isPattern = (one: unknown): boolean => (one as RegExp).source.includes('{1000}');
    const lengths = native.mock.calls
      .filter((_, at) => isPattern(native.mock.contexts[at]))
      .map(([text]) => text.length);
    native.mockRestore();
    expect(lengths).toEqual([100]);
  });

  it('finds as many matches as asked for', () => {
    expect(compileRegexp('[0-9]+').findAll('1 22 333', 2)).toEqual(['1', '22']);
    expect(compileRegexp('[0-9]+').find('a 22')).toBe('22');
    expect(compileRegexp('[0-9]+').find('a')).toBeUndefined();
    expect(compileRegexp('(?i)b+').findAll('BbcB', 1)).toEqual(['Bb']);
  });
});

describe('nativeForm', () => {
  it('tells how the choices of a pattern grow with the text', () => {
    expect(nativeForm('^[a-z]+$')).toMatchObject({ choices: 1, degree: 1 });
    expect(nativeForm('[a-z]+x*')).toMatchObject({ degree: 3 });
    expect(nativeForm('^(a|b)?c{1,5}$')).toMatchObject({ choices: 15, degree: 0 });
    expect(nativeForm('(a+)+')).toBeUndefined();
    expect(nativeForm('(?i)a')).toBeUndefined();
    expect(nativeForm('^(ab|a{1000})c{2,5}$')).toMatchObject({ choices: 8, steps: 1007 });
  });
});
