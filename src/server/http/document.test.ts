/** Proves that the text of a document is the same, whether it is made at once or in slices. */
import { expect, it } from 'vitest';
import { ApiDocument } from './document.ts';

it.each([
  {},
  { a: {}, b: [], c: null, d: 'x', e: undefined },
  {
    paths: { '/a': { get: { tags: ['x'] } }, '/"b"': {} },
    definitions: { A: { 2: 'two', 1: { deep: { er: [] } } } },
  },
])('%j', (value) => {
  const work = ApiDocument.jsonInSlices(value);
  let step = work.next();
  while (!step.done) step = work.next();
  const whole = ApiDocument.json(value);
  expect(step.value.bytes.toString()).toBe(whole.bytes.toString());
  expect(step.value.hash).toBe(whole.hash);
});
