/** Proves that entries survive being written as text and read again, whatever they are called. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { optimized } from '../../switches.ts';
import { entryOf, identity, type Managed, type Manager } from '../values/managed-entry.ts';
import { ManagedText } from './managed-text.ts';

const odd = fc.constantFrom(
  '',
  'a',
  '"},{"manager":"b',
  '","fieldsType":"FieldsV1","fieldsV1":{}',
  ',"subresource":"x',
  '}]},"spec',
  '\\',
  '🛶',
);
const who: fc.Arbitrary<Manager> = fc.record({
  manager: odd,
  operation: fc.constantFrom('Apply', 'Update'),
  apiVersion: fc.constantFrom('v1', 'apps/v1'),
  subresource: odd,
});
const set = fc.dictionary(
  odd.map((name) => `f:${name}`),
  fc.dictionary(
    odd.map((value) => `v:${JSON.stringify(value)}`),
    fc.constant({}),
    { noNullPrototype: true },
  ),
  { minKeys: 1, noNullPrototype: true },
);
const entry: fc.Arbitrary<Managed> = fc
  .tuple(who, set, fc.constantFrom(undefined, '2026-01-02T03:04:05Z'))
  .map(([manager, fields, time]) => entryOf(manager, fields, time));

describe('managed fields as text', () => {
  test('are the entries they were made of', () => {
    fc.assert(
      fc.property(fc.uniqueArray(entry, { minLength: 1, maxLength: 4, selector: identity }), (entries) => {
        const { text } = ManagedText.of(entries);
        expect(JSON.parse(text)).toEqual(
          entries.map(({ manager, ...rest }) => (manager ? { manager, ...rest } : rest)),
        );
        expect(ManagedText.stored(text).entries).toEqual(entries);
        expect(ManagedText.of(ManagedText.stored(text).entries).text).toBe(text);
      }),
    );
  });

  test.runIf(optimized)('share the sets of objects with the same fields', () => {
    const fields = { 'f:data': { '.': {}, 'f:a': {} } };
    const texts = ['a', 'b'].map(
      (manager) =>
        ManagedText.of([
          entryOf({ manager, operation: 'Update', apiVersion: 'v1', subresource: '' }, fields, undefined),
        ]).text,
    );
    const [one, other] = texts.map((text) => ManagedText.stored(text).entries[0]!.fieldsV1);
    expect(one).toBe(other);
  });

  test.each([
    ['[{}]'],
    ['[{"manager":"a"}]'],
    ['[{"manager":"a","operation":"Paint","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}]'],
    ['[{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"x":{}}}]'],
    ['[{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":[1]}]'],
  ])('that cannot be read are none: %s', (text) => {
    expect(ManagedText.stored(text).entries).toEqual([]);
  });

  test('that stand in another order are read, too', () => {
    const text = '[{"fieldsV1":{"f:a":{}},"fieldsType":"FieldsV1","operation":"Update","apiVersion":"v1"}]';
    expect(ManagedText.stored(text).entries).toEqual([
      { manager: '', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:a': {} } },
    ]);
  });
});
