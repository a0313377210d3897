// Proves that SortedMap behaves like a Map walked in the order of the keys' UTF-8 bytes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../test/support/any-text.ts';
import { rounds } from '../../test/support/tier.ts';
import { compareKeys, SortedMap } from './sorted-map.ts';

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Text in which the first difference is often between a surrogate pair and a character just below U+FFFF. */
const key = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '-',
      '\u0000',
      '\u00e9',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{1f600}',
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''));

describe('compareKeys', () => {
  it('orders well-formed text by its UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.oneof(key, anyText()), key, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(byBytes(a, b));
      }),
      { numRuns: rounds(2000) },
    );
  });

  it('puts a character beyond U+FFFF after those before it, where plain comparison does not', () => {
    expect('\u{1f600}' < '\uffff').toBe(true);
    expect(compareKeys('\u{1f600}', '\uffff')).toBeGreaterThan(0);
  });
});

describe('SortedMap', () => {
  it('agrees with a Map and a sort under random changes', () => {
    const change = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key, fc.nat(9));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), key, (changes, start) => {
        const map = new SortedMap<number>();
        const model = new Map<string, number>();
        for (const [kind, name, value] of changes) {
          if (kind === 'set') {
            map.set(name, value);
            model.set(name, value);
          } else expect(map.delete(name)).toBe(model.delete(name));
        }
        const sorted = [...model].sort(([a], [b]) => byBytes(a, b));
        expect([...map.from()].map(({ key, value }) => [key, value])).toEqual(sorted);
        expect([...map.from(start)].map(({ key }) => key)).toEqual(
          sorted.map(([name]) => name).filter((name) => byBytes(name, start) >= 0),
        );
        expect(map.size).toBe(model.size);
        for (const [name] of sorted) expect(map.get(name)).toBe(model.get(name));
      }),
    );
  });

  it('stays sorted when many keys cut chunks in random, rising and falling order', () => {
    const numbers = Array.from({ length: 5000 }, (_, i) => i);
    const shuffled = numbers.map((i) => (i * 3571) % 5000);
    for (const order of [numbers, numbers.toReversed(), shuffled]) {
      const map = new SortedMap<number>();
      for (const i of order) map.set(String(i).padStart(5, '0'), i);
      expect([...map.from()].map(({ value }) => value)).toEqual(numbers);
      expect([...map.from('04990')].map(({ value }) => value)).toEqual(numbers.slice(4990));
      for (const i of order) if (i % 3) map.delete(String(i).padStart(5, '0'));
      expect([...map.from()].map(({ value }) => value)).toEqual(numbers.filter((i) => i % 3 === 0));
      for (const i of numbers) map.delete(String(i).padStart(5, '0'));
      expect(map.size).toBe(0);
      expect([...map.from()]).toEqual([]);
      map.set('again', 1);
      expect([...map.from()]).toEqual([{ key: 'again', value: 1 }]);
    }
  });

  it('is empty after clear', () => {
    const map = new SortedMap<number>();
    map.set('\u{1f600}', 1);
    map.clear();
    expect([map.size, map.get('\u{1f600}'), [...map.from()]]).toEqual([0, undefined, []]);
  });
});

it('walking and counting agree with iterating, wherever they begin', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 300 }),
      fc.string(),
      (keys, start) => {
        const map = new SortedMap<string>();
        for (const key of keys) map.set(key, key);
        const rest = [...map.from(start)].map(({ key }) => key);
        const walked: string[] = [];
        map.walk(start, (value) => {
          walked.push(value);
          return true;
        });
        expect(walked).toEqual(rest);
        expect(map.count(start)).toBe(rest.length);
        let visits = 0;
        map.walk('', () => ++visits < 3);
        expect(visits).toBe(Math.min(3, keys.length));
      },
    ),
  );
});
