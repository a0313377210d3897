/** Proves that forms begin with what is required, and send only what was filled in. */
import { expect, test } from 'vitest';
import { KindSchema } from '../../core/schema.ts';
import { emptyValue, fieldText, filled, withValue } from './empty-value.ts';

test('values of forms', () => {
  const list = {
    items: {
      required: ['name', 'self'],
      properties: { name: { type: 'string' }, self: { $ref: '#/x/Spec' } },
    },
  };
  const spec = { required: ['list'], properties: { list, other: { type: 'string' } } };
  const schemas = new KindSchema({ Spec: spec }, spec);
  // Schemas may hold themselves; a value must end somewhere.
  expect(emptyValue(schemas, spec).list[0].self.list[0]).toMatchObject({ name: undefined });
  const value = withValue({ a: [{ b: 1 }, { b: 2 }] }, ['a', 1, 'b'], 3);
  expect(value).toEqual({ a: [{ b: 1 }, { b: 3 }] });
  expect(filled({ a: '', b: { c: undefined }, d: {}, e: 0, f: [{ g: '' }, 'h'] })).toEqual({
    d: {},
    e: 0,
    f: ['h'],
  });
  expect(fieldText(['spec', 'list', 0, 'name'])).toBe('spec.list[0].name');
});
