/** Proves that paths come in the order of the document, and that strange documents are no trouble. */
import { expect, it } from 'vitest';
import { documentOrder } from './fieldpaths.ts';

it('paths come in document order', () => {
  const document = { spec: { unknownField: 1, list: [{ a: 1 }, { b: 2 }], replicas: 2 }, last: {} };
  expect(documentOrder(document, ['spec.replicas', 'spec.unknownField', 'spec.list[1].b', 'last'])).toEqual([
    'spec.unknownField',
    'spec.list[1].b',
    'spec.replicas',
    'last',
  ]);
});

it('paths that are not there come last', () => {
  expect(documentOrder({ a: 1 }, ['gone', 'a'])).toEqual(['a', 'gone']);
  expect(documentOrder(null, ['gone'])).toEqual(['gone']);
});
