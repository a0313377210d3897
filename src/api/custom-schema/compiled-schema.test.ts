/** Proves what pruning and defaulting do at places that the recorded answers do not show. */
import { describe, expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { cloneJson, type JsonObject } from '../text/object.ts';
import { compileSchema } from './compiled-schema.ts';

const compiled = (spec: Schema) => compileSchema({ type: 'object', properties: { spec } });

describe('pruning', () => {
  const table: [name: string, spec: Schema, value: unknown, left: unknown, unknown: string[]][] = [
    [
      'entries without a schema',
      { type: 'object', additionalProperties: true },
      { a: { b: 1 }, c: 1 },
      { a: {}, c: 1 },
      ['spec.a.b'],
    ],
    [
      'entries with one',
      { type: 'object', additionalProperties: { type: 'object', properties: { b: { type: 'string' } } } },
      { a: { b: 'x', c: 1 }, d: null },
      { a: { b: 'x' } },
      ['spec.a.c'],
    ],
    [
      'a list without a schema',
      { type: 'array' },
      [{ a: 1 }, [{ b: 1 }]],
      [{}, [{}]],
      ['spec[0].a', 'spec[1][0].b'],
    ],
    [
      'a list that preserves',
      {
        'x-kubernetes-preserve-unknown-fields': true,
        items: { type: 'object', properties: { known: { type: 'object' } } },
      },
      [{ a: 1, known: { x: 1 } }],
      [{ a: 1, known: {} }],
      ['spec[0].known.x'],
    ],
    [
      'names of prototypes',
      { type: 'object' },
      { constructor: 1, toString: 2 },
      {},
      ['spec.constructor', 'spec.toString'],
    ],
    ['a parent and not what is in it', { type: 'object' }, { a: { b: { c: 1 } } }, {}, ['spec.a']],
    [
      'nulls with a default',
      { type: 'object', properties: { a: { type: 'string', default: 'x' }, b: { type: 'string' } } },
      { a: null, b: null },
      { a: null },
      [],
    ],
  ];
  it.each(table)('%s', (_name, spec, value, left, unknown) => {
    const object = { spec: cloneJson(value) };
    expect(compiled(spec).prune(object)).toEqual(unknown);
    expect(object).toEqual({ spec: left });
  });

  it('takes metadata of embedded resources for what it is', () => {
    const { prune } = bound({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { x: { type: 'string' } },
    });
    const object = { spec: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', odd: 1 }, x: 'y', z: 1 } };
    expect(prune(object)).toEqual(['spec.metadata.odd', 'spec.z']);
    expect(object.spec).toEqual({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, x: 'y' });
    expect(() => prune({ spec: { metadata: 5 } })).toThrow(
      'spec.metadata: Invalid value: 5: json: cannot unmarshal number',
    );
  });

  it('drops what does not fit from embedded resources of stored objects', () => {
    const schema = compiled({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    });
    const object: JsonObject = { spec: { kind: 5, metadata: { name: 'a', labels: 7, odd: 1 } } };
    schema.prune(object, 'stored');
    expect(object).toEqual({ spec: { metadata: { name: 'a' } } });
    const strange: JsonObject = { spec: { metadata: 'text' } };
    schema.prune(strange, 'stored');
    expect(strange).toEqual({ spec: { metadata: {} } });
  });

  it('reports some of very many unknown fields', () => {
    const spec = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i]));
    const object: JsonObject = { spec };
    expect(compiled({ type: 'object' }).prune(object)).toHaveLength(100);
    expect(object).toEqual({ spec: {} });
  });
});

const bound = (spec: Schema) => {
  const schema = compiled(spec);
  return { prune: (object: JsonObject) => schema.prune(object) };
};

describe('defaulting', () => {
  const defaulted = (spec: Schema, value: unknown): unknown => {
    const object: JsonObject = { spec: cloneJson(value) };
    compiled(spec).applyDefaults(object);
    return object.spec;
  };

  it('enters lists and entries, and replaces nulls there', () => {
    const item: Schema = { type: 'object', properties: { a: { type: 'integer', default: 1 } }, default: {} };
    expect(defaulted({ type: 'array', items: item }, [{}, null, { a: 2 }])).toEqual([
      { a: 1 },
      { a: 1 },
      { a: 2 },
    ]);
    expect(defaulted({ type: 'object', additionalProperties: item }, { x: {}, y: null })).toEqual({
      x: { a: 1 },
      y: { a: 1 },
    });
    expect(defaulted({ type: 'array', items: { ...item, nullable: true } }, [null])).toEqual([null]);
  });

  it('gives every object its own copy', () => {
    const schema = compiled({
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'string' }, default: ['x'] } },
    });
    const first: JsonObject = { spec: {} };
    const second: JsonObject = { spec: {} };
    schema.applyDefaults(first);
    (first.spec as { a: string[] }).a.push('y');
    schema.applyDefaults(second);
    expect(second.spec).toEqual({ a: ['x'] });
  });
});

describe('status writes', () => {
  it('check the keywords of the status alone', () => {
    const schema = compileSchema({
      type: 'object',
      properties: {
        spec: { type: 'string' },
        status: { type: 'object', properties: { phase: { type: 'string', enum: ['A'] } } },
      },
      required: ['spec'],
    });
    const fields = (object: JsonObject, old?: JsonObject) =>
      schema.validate(object, { only: 'status', ...(old && { old }) }).errors.map(({ field }) => field);
    expect(fields({ spec: 5, status: { phase: 'B' } })).toEqual(['status.phase']);
    expect(fields({ spec: 5, status: { phase: 'B' } }, { status: { phase: 'B' } })).toEqual([]);
    expect(fields({ spec: 5 })).toEqual([]);
  });
});

it('names fields of the status from the status on, when it alone is checked', () => {
  const schema = compileSchema({
    type: 'object',
    properties: {
      status: {
        type: 'object',
        properties: { streams: { type: 'array', minItems: 1, items: { type: 'string' } } },
      },
    },
  });
  const errors = (status: unknown, only?: 'status') =>
    schema
      .validate({ status }, { ...(only && { only }) })
      .errors.map(({ field, message }) => [field, message]);
  const few = (name: string) => [
    ['status.streams', `Invalid value: 0: ${name} in body should have at least 1 items`],
  ];
  expect(errors({ streams: [] }, 'status')).toEqual(few('streams'));
  expect(errors({ streams: [] })).toEqual(few('status.streams'));
  const wrong = (name: string) => [
    ['status', `Invalid value: "string": ${name} in body must be of type object: "string"`],
  ];
  expect(errors('lost', 'status')).toEqual(wrong(''));
  expect(errors('lost')).toEqual(wrong('status'));
});

it('runs no rules on an object without a name', () => {
  const schema = compiled({
    type: 'object',
    'x-kubernetes-validations': [{ rule: 'self.mast > 1' }],
    properties: { mast: { type: 'integer' } },
  });
  const fields = (metadata: JsonObject) =>
    schema.validate({ metadata, spec: { mast: 1 } }).errors.map(({ field }) => field);
  expect(fields({ name: 'sloop' })).toEqual(['spec']);
  expect(fields({})).toEqual(['<nil>']);
});
