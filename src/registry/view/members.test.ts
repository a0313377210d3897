// Proves that finding, walking and counting members gives the same results as a sorted list of all member keys.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { compareKeys } from '../../store/sorted-map.ts';
import type { Entry } from './entry.ts';
import { memberKey } from './key.ts';
import { Members } from './members.ts';

const namespace = fc.constantFrom('', 'a', 'a-b', 'b', 'default');
const name = fc.constantFrom('a', 'a-1', 'a.1', 'b', 'web-10', 'web-9', 'z');
/** A member key, or an invalid one as a client may send it. */
const start = fc.oneof(
  fc.constant(''),
  fc.tuple(namespace, name).map(([space, name]) => memberKey(space, name)),
  namespace,
  fc.string({ maxLength: 4 }),
);
const step = fc.record({ add: fc.boolean(), namespace, name });

const entry = (namespace: string, name: string): Entry => ({ namespace, name }) as Entry;
const keyOf = ({ namespace, name }: Entry): string => memberKey(namespace, name);

describe('Members', () => {
  it('are those that were set and not deleted, in the order of their keys', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.option(namespace, { nil: undefined }),
        start,
        fc.integer({ min: 1, max: 10 }),
        (steps, space, from, stopAfter) => {
          const members = new Members();
          const model = new Map<string, Entry>();
          for (const { add, namespace, name } of steps) {
            const made = entry(namespace, name);
            if (add) {
              members.set(made);
              model.set(keyOf(made), made);
            } else {
              members.delete(namespace, name);
              model.delete(keyOf(made));
            }
            expect(members.get(namespace, name)).toBe(add ? made : undefined);
          }
          expect(members.size).toBe(model.size);
          const expected = [...model.entries()]
            .filter(
              ([key, { namespace }]) => compareKeys(key, from) >= 0 && (space ?? namespace) === namespace,
            )
            .sort(([a], [b]) => compareKeys(a, b))
            .map(([, member]) => member);
          expect([...members.from(space, from)]).toEqual(expected);
          expect(members.count(space, from)).toBe(expected.length);
          const visited: Entry[] = [];
          members.walk(space, from, (member) => visited.push(member) < stopAfter);
          expect(visited).toEqual(expected.slice(0, stopAfter));
        },
      ),
      { numRuns: rounds(500) },
    );
  });
});
