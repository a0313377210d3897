/** Paths to fields: what is read of them, and what is said about wrong ones. */
import { expect, it } from 'vitest';
import { pathText, readFieldPath } from './field-path.ts';

const root = {
  properties: {
    a: { properties: { 'b.c': { type: 'string' }, "it's": {}, 'tab\t': {}, 'back\\x': {}, 'back\\': {} } },
    map: { additionalProperties: { properties: { x: {} } } },
  },
};
const read = (path: string): string => {
  const found = readFieldPath(path, root, true);
  return typeof found === 'string' ? found : pathText('', found.steps);
};

it.each([
  ['.a', 'a'],
  [".a['b.c']", 'a.b.c'],
  [".map['k'].x", 'map[k].x'],
  ['.map.k', 'map[k]'],
  [".a['it\\'s']", "a.it's"],
  [".a['tab\\t']", 'a.tab\t'],
  [".a['back\\\\x']", 'a.back\\x'],
])('%s is read', (path, text) => {
  expect(read(path)).toBe(text);
});

it.each([
  ['.', 'unexpected end of JSON path'],
  ['..', 'does not refer to a valid field'],
  ['a', 'expected [ or . but got: a'],
  ['.a[0]', 'expected single quoted string but got 0'],
  [".a['x", "expected single quoted string but got 'x"],
  [".a['b.c'", 'unexpected end of JSON path'],
  [".a['b.c'x", 'expected ] but got x'],
  [".a['\\q']", 'invalid string literal: invalid escape char \\q'],
  [".a['\\q\\w']", 'invalid string literal: invalid escape char \\w'],
  // The last backslash is taken for that of the quote behind it, as in Kubernetes.
  [".a['back\\\\']", "expected single quoted string but got 'back\\\\']"],
])('%s is refused', (path, problem) => {
  expect(read(path)).toBe(problem);
});
