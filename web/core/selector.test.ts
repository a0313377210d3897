/** Proves that selectors of workloads are written as queries, and which labels they select. */
import { expect, it } from 'vitest';
import { selectorOf, selects } from './selector.ts';

it('writes labels and expressions', () => {
  expect(selectorOf({ matchLabels: { app: 'web', tier: 'x' } })).toBe('app=web,tier=x');
  expect(
    selectorOf({
      matchExpressions: [
        { key: 'a', operator: 'Exists' },
        { key: 'b', operator: 'DoesNotExist' },
        { key: 'c', operator: 'In', values: ['1', '2'] },
        { key: 'd', operator: 'NotIn', values: ['3'] },
      ],
    }),
  ).toBe('a,!b,c in (1,2),d notin (3)');
});

it('selects what has all labels, and nothing when none are wanted', () => {
  expect(selects({ a: '1' }, { a: '1', b: '2' })).toBe(true);
  expect(selects({ a: '1', c: '3' }, { a: '1' })).toBe(false);
  expect(selects({}, { a: '1' })).toBe(false);
  expect(selects({ a: '1' }, undefined)).toBe(false);
});
