/** Proves how values at places of a schema are owned and merged. */
import { expect, it } from 'vitest';
import { type FieldType, structOf, typeBelow } from '../fieldtype.ts';
import { modelsOf } from '../model.ts';
import { ownershipModel } from './ownershipmodel.ts';
import type { Schema } from './schema.ts';

function at(spec: Schema, ...path: string[]): FieldType | undefined {
  const schema: Schema = { type: 'object', properties: { spec } };
  const custom = { schema, listKind: 'ThingList', selectableFields: [] };
  const fields = { kind: { type: 'string' }, apiVersion: { type: 'string' } } as const;
  const models = { Thing: { order: ['kind', 'apiVersion'], fields, open: true, custom } };
  const model = modelsOf({ apiVersion: 'example.com/v1', models })('Thing');
  let type: FieldType | undefined = structOf(ownershipModel(model));
  for (const name of ['spec', ...path]) type = type && typeBelow(type, `f:${name}`);
  return type;
}

it('follows types, list types and map types', () => {
  const text: Schema = { type: 'string' };
  const struct = at({ type: 'object', properties: { a: text } });
  expect(struct?.name).toBe('struct');
  expect([...struct!.members.keys()]).toEqual(['a']);
  expect(at({ type: 'object', properties: { a: text } }, 'a')?.name).toBe('leaf');
  expect(at({ type: 'object', properties: { a: text } }, 'b')).toBeUndefined();
  expect(at({ type: 'object', properties: { a: text }, 'x-kubernetes-map-type': 'atomic' })?.name).toBe(
    'leaf',
  );
  const map = at({ type: 'object', additionalProperties: text });
  expect([map?.name, map?.items.name]).toEqual(['map', 'leaf']);
  expect(at({ type: 'array', items: text })?.name).toBe('leaf');
  expect(at({ type: 'array', items: text, 'x-kubernetes-list-type': 'set' })?.name).toBe('set');
  expect(at({ 'x-kubernetes-preserve-unknown-fields': true })?.name).toBe('deduced');
  expect(at({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })?.name).toBe('deduced');
  const half: Schema = {
    type: 'object',
    properties: { a: text },
    'x-kubernetes-preserve-unknown-fields': true,
  };
  expect(at(half, 'b')?.name).toBe('deduced');
  const keyed = at({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['port', 'protocol'],
    items: {
      type: 'object',
      properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
    },
  });
  expect(keyed?.keys).toEqual([
    { name: 'port', preset: undefined },
    { name: 'protocol', preset: 'TCP' },
  ]);
  expect(keyed?.items.name).toBe('struct');
});
