/** Proves how values at places of a schema are owned and merged. */
import { expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { type Model, modelsOf } from '../model/model.ts';
import { typedProblem } from '../ownership/field-check.ts';
import { type FieldType, structOf, typeBelow } from '../ownership/field-type.ts';
import { compareWritten } from '../ownership/field-walk.ts';
import { createdText } from '../ownership/ownership-text.ts';
import { fieldSetText } from '../values/field-set.ts';
import { ownershipModel } from './ownership-model.ts';

function modelFor(schema: Schema): Model {
  const custom = { schema, listKind: 'ThingList', selectableFields: [] };
  const fields = { kind: { type: 'string' }, apiVersion: { type: 'string' } } as const;
  const models = { Thing: { order: ['kind', 'apiVersion'], fields, open: true, custom } };
  return ownershipModel(modelsOf({ apiVersion: 'example.com/v1', models })('Thing'));
}

function at(spec: Schema, ...path: string[]): FieldType | undefined {
  let type: FieldType | undefined = structOf(modelFor({ type: 'object', properties: { spec } }));
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
  const open = at({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  expect([open?.name, open?.items.name]).toEqual(['map', 'deduced']);
  expect(at({ 'x-kubernetes-int-or-string': true })?.name).toBe('deduced');
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

it('knows the named fields beside unknown ones, and allows unknown ones everywhere below', () => {
  const set: Schema = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
  const half: Schema = {
    type: 'object',
    properties: { tags: set, inner: { type: 'object', properties: { a: { type: 'string' } } } },
    'x-kubernetes-preserve-unknown-fields': true,
  };
  expect(at(half, 'tags')?.name).toBe('set');
  expect(at(half, 'inner')?.name).toBe('struct');
  expect([at(half, 'inner', 'a')?.name, at(half, 'inner', 'b')?.name]).toEqual(['leaf', 'deduced']);
  const untyped: Schema = { properties: { tags: set }, 'x-kubernetes-preserve-unknown-fields': true };
  expect(at(untyped, 'tags')?.name).toBe('set');
  const whole: Schema = { ...half, 'x-kubernetes-map-type': 'atomic' };
  expect(at(whole)?.name).toBe('leaf');
});

it('takes objects without named fields for maps, unless nothing may be in them', () => {
  const free = at({ type: 'object' });
  expect([free?.name, free?.items.name]).toEqual(['map', 'deduced']);
  expect(at({ type: 'object', additionalProperties: true }, 'a')?.name).toBe('deduced');
  expect(at({ type: 'object', additionalProperties: false }, 'a')).toBeUndefined();
});

it('knows the metadata of embedded resources', () => {
  const embedded: Schema = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };
  expect(at(embedded, 'metadata')?.name).toBe('struct');
  expect(at(embedded, 'metadata', 'finalizers')?.name).toBe('set');
  expect(at(embedded, 'spec')?.name).toBe('deduced');
});

it('gives the creator of an object all its fields, known and unknown', () => {
  const preserves = { 'x-kubernetes-preserve-unknown-fields': true } as const;
  const inner: Schema = { type: 'object', properties: { m: { type: 'string' } } };
  const spec: Schema = { type: 'object', properties: { inner }, ...preserves };
  const model = modelFor({ type: 'object', properties: { spec }, ...preserves });
  const object = {
    kind: 'Thing',
    apiVersion: 'example.com/v1',
    spec: { z: [1], inner: { m: 'x', a: { b: 1 } }, a: {}, n: null },
    other: { deep: true },
    status: { phase: 'x' },
  };
  const text = createdText(model, object, new Set(['status']));
  expect(JSON.parse(text)).toEqual({
    'f:other': { '.': {}, 'f:deep': {} },
    'f:spec': {
      '.': {},
      'f:a': {},
      'f:inner': { '.': {}, 'f:a': { '.': {}, 'f:b': {} }, 'f:m': {} },
      'f:n': {},
      'f:z': {},
    },
  });
  const empty = { kind: 'Thing', apiVersion: 'example.com/v1' };
  const { changed } = compareWritten(
    structOf(model),
    empty,
    object,
    new Set(['kind', 'apiVersion', 'status']),
  );
  expect(fieldSetText(changed)).toBe(text);
});

const thing = (spec: object) => ({ kind: 'Thing', apiVersion: 'example.com/v1', spec });

it('has null as a value, which is owned and is another than none', () => {
  const properties: Record<string, Schema> = {
    text: { type: 'string', nullable: true },
    list: { type: 'array', items: { type: 'string' }, nullable: true },
    object: { type: 'object', properties: { a: { type: 'string' } }, nullable: true },
    map: { type: 'object', additionalProperties: { type: 'string' }, nullable: true },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, nullable: true },
  };
  const model = modelFor({ type: 'object', properties: { spec: { type: 'object', properties } } });
  const names = Object.keys(properties);
  const nulls = thing(Object.fromEntries(names.map((name) => [name, null])));
  const owned = Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  expect(JSON.parse(createdText(model, nulls, new Set()))).toEqual({ 'f:spec': { '.': {}, ...owned } });
  expect(compareWritten(structOf(model), thing({}), nulls)).toEqual({
    changed: { 'f:spec': owned },
    removed: {},
  });
  expect(compareWritten(structOf(model), nulls, thing({}))).toEqual({
    changed: {},
    removed: { 'f:spec': owned },
  });
  expect(compareWritten(structOf(model), nulls, nulls)).toEqual({ changed: {}, removed: {} });
});

it('compares unknown values by what they are: null beside an object is an empty one, and a list replaces it', () => {
  const free: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const type = structOf(modelFor({ type: 'object', properties: { spec: free } }));
  const changes = (a: unknown, b: unknown) => compareWritten(type, thing({ q: a }), thing({ q: b }));
  const part = { 'f:q': { 'f:r': { '.': {}, 'f:z': {} } } };
  expect(changes(null, { r: { z: 1 } })).toEqual({ changed: { 'f:spec': part }, removed: {} });
  expect(changes({ r: { z: 1 } }, null)).toEqual({ changed: {}, removed: { 'f:spec': part } });
  expect(changes(null, {})).toEqual({ changed: { 'f:spec': { 'f:q': {} } }, removed: {} });
  expect(changes([], { r: { z: 1 } })).toEqual({
    changed: { 'f:spec': { 'f:q': { '.': {}, ...part['f:q'] } } },
    removed: {},
  });
  expect(changes({ r: { z: 1 } }, [])).toEqual({
    changed: { 'f:spec': { 'f:q': {} } },
    removed: { 'f:spec': part },
  });
});

it('expects a map where unknown fields are kept, and nothing of an integer or string', () => {
  const free: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const properties = { free, port: { 'x-kubernetes-int-or-string': true } as Schema };
  const model = modelFor({ type: 'object', properties: { spec: { type: 'object', properties } } });
  expect(typedProblem(model, thing({ free: [] }))).toBe('.spec.free: expected map, got &{[]}');
  expect(typedProblem(model, thing({ free: null, port: {} }))).toBeUndefined();
});

it('takes more fields than a function can have parameters', () => {
  const names = Array.from({ length: 70_000 }, (_, i) => `f${i}`);
  const properties = Object.fromEntries(names.map((name): [string, Schema] => [name, { type: 'string' }]));
  const model = modelFor({ type: 'object', properties: { spec: { type: 'object', properties } } });
  const object = { kind: 'Thing', apiVersion: 'example.com/v1', spec: { f0: 'a', f69999: 'b' } };
  expect(createdText(model, object, new Set())).toBe('{"f:spec":{".":{},"f:f0":{},"f:f69999":{}}}');
});

it('takes any scalar for a text with a format, and texts alone for others', () => {
  const spec = { plain: { type: 'string' }, range: { type: 'string', format: 'cidr' } } as const;
  const model = modelFor({ type: 'object', properties: { spec: { type: 'object', properties: spec } } });
  const problem = (value: object) => typedProblem(model, { spec: value });
  expect(problem({ plain: 'x', range: 5 })).toBeUndefined();
  expect(problem({ plain: 5 })).toBe('.spec.plain: expected string, got &value.valueUnstructured{Value:5}');
  expect(problem({ range: { keel: null } })).toBe('.spec.range: expected any scalar, got &{map[keel:<nil>]}');
});
