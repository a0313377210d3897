/**
 * Proves that comparing lists finds the same, whether items that are the same in both are skipped or not: they are not
 * skipped when many items differ, so every pair of lists is compared once more with different items behind them.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { modelOf } from '../model/model.ts';
import { fieldPaths } from '../values/field-set.ts';
import { structOf } from './field-type.ts';
import { compare } from './field-walk.ts';

const type = structOf(modelOf('Pod'));
const changes = (old: object, now: object): string[][] => {
  const { changed, removed } = compare(type, { ...old }, { ...now });
  return [changed, removed].map((set) =>
    fieldPaths(set)
      .filter((path) => !/(?:old|now)-\d/.test(path))
      .sort(),
  );
};
const numbered = <T>(prefix: string, make: (name: string) => T): T[] =>
  Array.from({ length: 20 }, (_, i) => make(`${prefix}-${i}`));

const pair = <T>(item: fc.Arbitrary<T>) => {
  const list = fc.array(item, { maxLength: 5 });
  return fc.record({ start: list, end: list, old: list, now: list });
};
const name = fc.constantFrom('a', 'b', 'c', 'd');

it('of items with keys', () => {
  const item = fc.record({ ip: name, hostnames: fc.constantFrom(['x'], ['y']) }, { requiredKeys: ['ip'] });
  fc.assert(
    fc.property(pair(item), ({ start, end, old, now }) => {
      const pod = (items: object[], more: object[] = []) => ({
        spec: { hostAliases: [{ ip: 'z' }, ...start, ...items, ...end, ...more] },
      });
      const extra = (prefix: string) => numbered(prefix, (ip) => ({ ip }));
      expect(changes(pod(old), pod(now))).toEqual(changes(pod(old, extra('old')), pod(now, extra('now'))));
    }),
  );
});

it('of values', () => {
  fc.assert(
    fc.property(pair(name), ({ start, end, old, now }) => {
      const pod = (items: string[], more: string[] = []) => ({
        metadata: { finalizers: ['z', ...start, ...items, ...end, ...more] },
      });
      const extra = (prefix: string) => numbered(prefix, (text) => text);
      expect(changes(pod(old), pod(now))).toEqual(changes(pod(old, extra('old')), pod(now, extra('now'))));
    }),
  );
});
