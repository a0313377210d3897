/** Proves that paths lead where kubectl's do, and that hostile ones are bounded. */
import { expect, test } from 'vitest';
import { JsonPathError, parseJsonPath } from './json-path.ts';

const object = {
  spec: { size: 3, names: ['a', 'b', 'c'], 'dotted.name': 1 },
  metadata: { annotations: { 'example.com/a': 'x' } },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', count: 2 },
      { type: 'Stale', status: 'False', count: 5, nested: [{ n: 1 }] },
    ],
  },
};
const find = (path: string): unknown[] => parseJsonPath(path).find(object);

test.each([
  ['.spec.size', [3]],
  ['{.spec.size}', [3]],
  ['$.spec.size', [3]],
  ['.spec.none.more', []],
  ['.spec.names[0]', ['a']],
  ['.spec.names[-1]', ['c']],
  ['.spec.names[9]', []],
  ['.spec.names[*]', ['a', 'b', 'c']],
  ['.spec.names[]', ['a']],
  ['.status.conditions[].type', ['Ready']],
  ['.status.conditions[].nested[].n', []],
  // One condition lacks a list, another the position: the path has no value at all.
  ['.status.conditions[*].nested[0].n', [1]],
  ['.status.conditions[*].nested[1].n', []],
  ['.status.conditions[*].type[0]', []],
  ['.spec.names[1:]', ['b', 'c']],
  ['.spec.names[0:2]', ['a', 'b']],
  ['.spec.names[0,2]', ['a', 'c']],
  [".spec['dotted\\.name']", [1]],
  [".spec['dotted.name']", []],
  [".spec['size','names']", [3, ['a', 'b', 'c']]],
  [".status['conditions'][1].type", ['Stale']],
  ['.metadata.annotations.example\\.com/a', ['x']],
  [".metadata.annotations['example\\.com/a']", ['x']],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  [".status.conditions[?(@.type=='Stale')].count", [5]],
  ['.status.conditions[?(@.type!="Ready")].type', ['Stale']],
  ['.status.conditions[?(@.count > 2)].type', ['Stale']],
  ['.status.conditions[?(@.nested)].type', ['Stale']],
  ['.status.conditions[?(@.nested[0].n == 1)].type', ['Stale']],
  ['.status.conditions[?(@.type==Ready)].status', []],
  ['.spec.call()', []],
  ['..n', [1]],
  ['.status.conditions[*].type', ['Ready', 'Stale']],
])('%s', (path, values) => {
  expect(find(path)).toEqual(values);
});

test.each(['.spec[', '.spec.', 'spec', '.a[?()]', '.a[b]', '.a["b"]', '.a b', `.${'a'.repeat(5000)}`])(
  '%s is no path',
  (path) => {
    if (path === '.spec.') expect(find(path)).toEqual([object.spec]);
    else expect(() => find(path)).toThrow(JsonPathError);
  },
);

test('a path cannot multiply values without bound', () => {
  const wide = Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, () => 1));
  expect(parseJsonPath('[*][*]').find(wide).length).toBe(10_000);
  expect(parseJsonPath('..*').find(wide).length).toBeLessThanOrEqual(10_000);
});
