/** Proves that field selectors are read, refused, matched and written as Kubernetes does. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { escapeFieldValue, FieldSelector, type FieldTerm, parseFieldSelector } from './field-selector.ts';
import { SelectorError } from './label-selector.ts';

function messageOf(text: string): string {
  try {
    return `accepted as ${parseFieldSelector(text)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(SelectorError);
    return (error as SelectorError).message;
  }
}

describe('grammar', () => {
  test.each<[string, FieldTerm[]]>([
    ['', []],
    [',', []],
    ['a=b', [{ path: 'a', op: '=', value: 'b' }]],
    ['a==b', [{ path: 'a', op: '=', value: 'b' }]],
    ['a!=b', [{ path: 'a', op: '!=', value: 'b' }]],
    ['a=', [{ path: 'a', op: '=', value: '' }]],
    ['a!=', [{ path: 'a', op: '!=', value: '' }]],
    ['=b', [{ path: '', op: '=', value: 'b' }]],
    ['a=b!', [{ path: 'a', op: '=', value: 'b!' }]],
    ['a= b ', [{ path: 'a', op: '=', value: ' b ' }]],
    [
      'status.phase=Running,metadata.name!=x',
      [
        { path: 'metadata.name', op: '!=', value: 'x' },
        { path: 'status.phase', op: '=', value: 'Running' },
      ],
    ],
    [
      'a=b,,c=d,',
      [
        { path: 'a', op: '=', value: 'b' },
        { path: 'c', op: '=', value: 'd' },
      ],
    ],
    ['a=b\\,c', [{ path: 'a', op: '=', value: 'b,c' }]],
    ['a=b\\=c', [{ path: 'a', op: '=', value: 'b=c' }]],
    ['a=b\\\\', [{ path: 'a', op: '=', value: 'b\\' }]],
    ['a=\\\\\\,\\=', [{ path: 'a', op: '=', value: '\\,=' }]],
    [
      'a=b\\\\,c=d',
      [
        { path: 'a', op: '=', value: 'b\\' },
        { path: 'c', op: '=', value: 'd' },
      ],
    ],
  ])('%j', (text, terms) => {
    expect(parseFieldSelector(text).terms).toEqual(terms);
  });

  test.each([
    ['foo', "invalid selector: 'foo'; can't understand 'foo'"],
    ['metadata.name>1', "invalid selector: 'metadata.name>1'; can't understand 'metadata.name>1'"],
    ['a=b,foo', "invalid selector: 'a=b,foo'; can't understand 'foo'"],
    ['z,y,a=b', "invalid selector: 'z,y,a=b'; can't understand 'y'"],
    ['a!b', "invalid selector: 'a!b'; can't understand 'a!b'"],
    [' ', "invalid selector: ' '; can't understand ' '"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=\\😀', 'invalid field selector: invalid escape sequence: \\😀'],
    ['a=\\\n', 'invalid field selector: invalid escape sequence: \\\n'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('%j: %s', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  test('bounds', () => {
    expect(messageOf(`a=${'b'.repeat(3_000_000)}`)).toBe(
      'field selector is too long: may not be more than 65536 characters',
    );
    expect(parseFieldSelector(','.repeat(65_536)).empty).toBe(true);
    expect(parseFieldSelector('a=b,'.repeat(256)).terms).toHaveLength(256);
    expect(messageOf('a=b,'.repeat(257))).toBe('field selector may not have more than 256 terms');
    expect(messageOf('\\'.repeat(65_536))).toMatch(/^invalid selector: /);
  });
});

describe('matching', () => {
  const fields = new Map([
    ['metadata.name', 'web'],
    ['status.phase', 'Running'],
  ]);
  const get = (path: string): string => fields.get(path) ?? '';

  test.each([
    ['', true],
    ['metadata.name=web', true],
    ['metadata.name=other', false],
    ['metadata.name!=web', false],
    ['metadata.name!=other', true],
    ['metadata.name=web,status.phase=Running', true],
    ['metadata.name=web,status.phase!=Running', false],
    ['spec.nodeName=', true],
    ['spec.nodeName!=', false],
    ['spec.nodeName=a', false],
    ['metadata.name=Web', false],
  ])('%j is %j', (text, expected) => {
    expect(parseFieldSelector(text).matches(get)).toBe(expected);
  });

  test('requires tells which value a path is pinned to', () => {
    const selector = parseFieldSelector('metadata.name=web,status.phase!=Failed,type=');
    expect(selector.requires('metadata.name')).toBe('web');
    expect(selector.requires('type')).toBe('');
    expect(selector.requires('status.phase')).toBeUndefined();
    expect(selector.requires('spec.nodeName')).toBeUndefined();
  });

  test('empty says that everything matches', () => {
    expect(parseFieldSelector('').empty).toBe(true);
    expect(parseFieldSelector('a=b').empty).toBe(false);
  });
});

describe('properties', () => {
  const path = fc.stringMatching(/^[a-z]{1,3}(\.[a-zA-Z]{1,4}){0,2}$/);
  const anyValue = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '\\', ',', '=', '!', ' ', 'é', '😀'), maxLength: 8 }),
    fc.string({ unit: 'binary-ascii', maxLength: 8 }),
  );
  const term: fc.Arbitrary<FieldTerm> = fc.record({
    path,
    op: fc.constantFrom('=' as const, '!=' as const),
    value: anyValue,
  });

  test('a value survives escaping', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(parseFieldSelector(`a=${escapeFieldValue(value)}`).terms).toEqual([
          { path: 'a', op: '=', value },
        ]);
      }),
      { numRuns: rounds(1000) },
    );
  });

  test('parsing undoes writing, and a written selector is stable', () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
        const again = parseFieldSelector(new FieldSelector(terms).toString());
        const sorted = (list: readonly FieldTerm[]): string[] =>
          list.map((one) => JSON.stringify(one)).sort();
        expect(sorted(again.terms)).toEqual(sorted(terms));
        expect(parseFieldSelector(again.toString()).toString()).toBe(again.toString());
      }),
      { numRuns: rounds(1000) },
    );
  });

  test('matching agrees with a plain reading of the terms', () => {
    const small = fc.record({
      path: fc.constantFrom('a', 'b', 'c'),
      op: fc.constantFrom('=' as const, '!=' as const),
      value: fc.constantFrom('', 'x', 'y'),
    });
    fc.assert(
      fc.property(
        fc.array(small, { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('', 'x', 'y')),
        (terms, own) => {
          const get = (name: string): string => new Map(Object.entries(own)).get(name) ?? '';
          const expected = terms.every((one) =>
            one.op === '=' ? get(one.path) === one.value : get(one.path) !== one.value,
          );
          expect(new FieldSelector(terms).matches(get)).toBe(expected);
        },
      ),
    );
  });

  test('any text is read or refused with a SelectorError', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '=', '!', ',', '\\', 'é'), maxLength: 10 }),
        (text) => {
          expect(messageOf(text)).toMatch(/^(accepted as |invalid selector: |invalid field selector: )/);
        },
      ),
      { numRuns: rounds(2000) },
    );
  });
});
