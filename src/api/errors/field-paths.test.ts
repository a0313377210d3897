/** Proves that findings come in the order in which a decoder meets them, and that strange documents are no trouble. */
import { expect, it } from 'vitest';
import { findDuplicates } from '../text/json.ts';
import { findingsInOrder } from './field-paths.ts';

const findings = (text: string, unknown: readonly string[]): string[] =>
  findingsInOrder(JSON.parse(text), findDuplicates(text), unknown);

it('findings come in document order', () => {
  const text =
    '{"spec":{"unknownField":1,"list":[{"a":1},{"b":2}],"replicas":1,"replicas":2},"last":{},"other":{}}';
  expect(findings(text, ['other', 'spec.unknownField', 'spec.list[1].b'])).toEqual([
    'unknown field "spec.unknownField"',
    'unknown field "spec.list[1].b"',
    'duplicate field "spec.replicas"',
    'unknown field "other"',
  ]);
});

it('a duplicate counts where its key stands for the second time', () => {
  expect(
    findings('{"a":1,"b":{"c":1,"x":1},"y":1,"b":{"c":1,"x":1},"a":2,"z":1}', ['b.x', 'y', 'z']),
  ).toEqual([
    'unknown field "b.x"',
    'unknown field "y"',
    'duplicate field "b"',
    'duplicate field "a"',
    'unknown field "z"',
  ]);
});

it('duplicates keep the order of their repetitions', () => {
  expect(findings('{"a":1,"b":1,"x":1,"a":2,"b":2,"b":3}', ['x'])).toEqual([
    'unknown field "x"',
    'duplicate field "a"',
    'duplicate field "b"',
  ]);
});

it('fields that are not there come last', () => {
  const gone = [{ path: 'b', after: 'c' }];
  expect(findingsInOrder({ a: 1 }, gone, ['gone', 'a'])).toEqual([
    'unknown field "a"',
    'duplicate field "b"',
    'unknown field "gone"',
  ]);
  expect(findingsInOrder(null, gone, ['gone'])).toEqual(['duplicate field "b"', 'unknown field "gone"']);
});
