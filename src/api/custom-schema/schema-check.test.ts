/** Proves the rules of schemas that the recorded answers do not show, what updates may keep, and bounds. */
import { describe, expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { checkSchema, formatWarnings } from './schema-check.ts';

const texts = (schema: Schema, oldSchemas?: Schema[]): string[] =>
  checkSchema(schema, 'S', { statusEnabled: false, ...(oldSchemas && { oldSchemas }) }).map(
    ({ field, message }) => `${field}: ${message}`,
  );

const object = (a: Schema, more: Schema = {}): Schema => ({ type: 'object', properties: { a }, ...more });

describe('at the root, with a status apart', () => {
  const rootTexts = (schema: Schema): string[] =>
    checkSchema(schema, 'S', { statusEnabled: true }).map(({ field, message }) => `${field}: ${message}`);

  it('a wrong type is told instead of other keywords', () => {
    expect(rootTexts({ type: 'string', maxProperties: 3 })).toEqual([
      'S.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      'S.type: Invalid value: "string": must be object at the root',
    ]);
  });

  it('switches that are off are no keywords', () => {
    expect(rootTexts({ type: 'object', nullable: false, 'x-kubernetes-int-or-string': false })).toEqual([]);
    expect(rootTexts({ type: 'object', additionalProperties: false })[0]).toMatch(
      /^S: Invalid value: .* only \[/,
    );
  });
});

describe('rules', () => {
  const embedded = { 'x-kubernetes-embedded-resource': true } as const;
  const free = { 'x-kubernetes-preserve-unknown-fields': true } as const;
  const table: [name: string, schema: Schema, errors: string[]][] = [
    [
      'rules about what has no type',
      object(
        { ...free, 'x-kubernetes-validations': [{ rule: 'self.x == 1' }] },
        {
          properties: {
            b: {
              type: 'array',
              items: free,
              'x-kubernetes-validations': [{ rule: 'self.size() == 1' }],
            },
          },
        },
      ),
      [
        'S.properties[b].x-kubernetes-validations: Internal error: internal error: failed to retrieve type information for x-kubernetes-validations',
      ],
    ],
    [
      'metadata of the wrong type in a default',
      object({
        type: 'array',
        items: { type: 'object', ...embedded, ...free },
        default: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 5 } }],
      }),
      [
        'S.properties[a].default[0].metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
      ],
    ],
    [
      'a field that only an alternative names',
      object({ type: 'string' }, { anyOf: [{ properties: { b: { minLength: 1 } } }] }),
      ['S.properties[b]: Required value: because it is defined in S.anyOf[0].properties[b]'],
    ],
    [
      'items that only an alternative names',
      object({ type: 'string' }, { not: { items: { minLength: 1 } } }),
      ['S.items: Required value: because it is defined in S.not.items'],
    ],
    [
      'metadata in an alternative',
      object({ type: 'object', properties: {}, oneOf: [{ properties: { metadata: { minProperties: 1 } } }] }),
      ['S.properties[a].oneOf[0].properties[metadata]: Forbidden: must not be specified in a nested context'],
    ],
    [
      'int or string as the first of all',
      object({
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: '^a' }],
      }),
      [],
    ],
    [
      'int or string in another order',
      object({ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'string' }, { type: 'integer' }] }),
      [
        'S.properties[a].anyOf[0].type: Forbidden: must be empty to be structural',
        'S.properties[a].anyOf[1].type: Forbidden: must be empty to be structural',
      ],
    ],
    [
      'an embedded map',
      object({ type: 'object', ...embedded, ...free, additionalProperties: { type: 'string' } }),
      [
        'S.properties[a].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set',
      ],
    ],
    [
      'an embedded resource in metadata',
      object({
        type: 'object',
        ...embedded,
        ...free,
        properties: { metadata: { type: 'object', ...embedded, ...free } },
      }),
      [
        'S.properties[a].properties[metadata].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta',
      ],
    ],
    [
      'an embedded resource that is int or string',
      object({ ...embedded, ...free, type: 'object', 'x-kubernetes-int-or-string': true }),
      [
        'S.properties[a].x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
        'S.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
      ],
    ],
    [
      'an empty schema of entries',
      object({ type: 'object', additionalProperties: {} }),
      [
        'S.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields',
      ],
    ],
    ['any entries', object({ type: 'object', additionalProperties: true }), []],
    [
      'a set of sets',
      object({
        type: 'array',
        'x-kubernetes-list-type': 'set',
        items: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' }, nullable: true },
      }),
      [
        'S.properties[a].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
        'S.properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set',
      ],
    ],
    [
      'keys of a set',
      object({
        type: 'array',
        'x-kubernetes-list-type': 'set',
        'x-kubernetes-list-map-keys': ['a'],
        items: { type: 'string' },
      }),
      [
        'S.properties[a].x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
      ],
    ],
    [
      'a default below another one',
      object({
        type: 'object',
        properties: { b: { type: 'integer', default: 'x' } },
        default: { b: 'y' },
      }),
      [
        'S.properties[a].default.b: Invalid value: "string": b in body must be of type integer: "string"',
        'S.properties[a].properties[b].default: Invalid value: "string":  in body must be of type integer: "string"',
      ],
    ],
    [
      'a default that lacks something',
      object({ type: 'object', properties: { b: { type: 'string' } }, required: ['b'], default: {} }),
      ['S.properties[a].default.b: Required value'],
    ],
    [
      'a default in entries',
      object({ type: 'object', additionalProperties: { type: 'integer', default: 'x' } }),
      [
        'S.properties[a].additionalProperties.default: Invalid value: "string":  in body must be of type integer: "string"',
      ],
    ],
    [
      'defaults of embedded metadata',
      object({
        type: 'object',
        ...embedded,
        properties: {
          kind: { type: 'string', default: 'Pod' },
          apiVersion: { type: 'string', default: 'a/b/c' },
          metadata: {
            type: 'object',
            properties: {
              name: { type: 'string', default: 'a/b' },
              labels: { type: 'object', additionalProperties: { type: 'string', default: 'x' } },
            },
          },
        },
      }),
      [
        'S.properties[a].properties[apiVersion].default: Invalid value: "a/b/c": must result in valid metadata: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        `S.properties[a].properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '/'`,
        'S.properties[a].properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata',
      ],
    ],
    [
      'an embedded default',
      object({ type: 'object', ...embedded, ...free, default: { apiVersion: 'v1' } }),
      ['S.properties[a].default.kind: Required value'],
    ],
  ];
  it.each(table)('%s', (_name, schema, errors) => expect(texts(schema)).toEqual(errors));
});

describe('updates', () => {
  it.each<[string, Schema, Schema]>([
    ['structure', object({}), object({ properties: { x: {} } })],
    ['types', object({ type: 'text' }), object({ type: 'words' })],
    [
      'defaults with unknown fields',
      object({ type: 'object', default: { x: 1 } }),
      object({ type: 'object', default: { y: 1 } }),
    ],
    [
      'sets of granular objects',
      object({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } }),
      object({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object', title: 't' } }),
    ],
    [
      'keys that may be missing',
      object({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' } } },
      }),
      object({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'integer' } } },
      }),
    ],
  ])('keep what was broken before: %s', (_name, old, next) => {
    expect(texts(next)).not.toEqual([]);
    expect(texts(next, [object({ type: 'string' })])).not.toEqual([]);
    expect(texts(next, [object({ type: 'string' }), old])).toEqual([]);
  });

  it('keep rules that are too dear, as long as nothing else changes', () => {
    const dear = object(
      { type: 'array', items: { type: 'string' } },
      { 'x-kubernetes-validations': [{ rule: "self.a.all(x, self.a.exists(y, x == y + 'c'))" }] },
    );
    const refusal = expect.stringContaining('estimated rule cost exceeds budget');
    expect(texts(dear)).toContainEqual(refusal);
    expect(texts(dear, [dear])).not.toContainEqual(refusal);
    expect(texts({ ...dear, description: 'Another.' }, [dear])).toContainEqual(refusal);
  });

  it('warn of formats that are new', () => {
    const made = object({ type: 'string', format: 'made-up' });
    expect(formatWarnings(made)).toEqual(['unrecognized format "made-up"']);
    expect(formatWarnings(made, [made])).toEqual([]);
  });
});

describe('hostile schemas', () => {
  it('are not nested too deeply', () => {
    let deep: Schema = { type: 'string' };
    for (let i = 0; i < 200; i++) deep = object(deep);
    expect(texts(deep)).toEqual(['S: Invalid value: "": must not have more than 100 levels of schemas']);
  });

  it('with very many errors under long names get some of them', () => {
    const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, {}]));
    const wide: Schema = {
      type: 'object',
      properties: { ['x'.repeat(100_000)]: { type: 'object', properties } },
    };
    expect(texts(wide).length).toBeLessThan(20);
  });

  it('with defaults at every level are compiled once', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`p${i}`, { type: 'string' }]),
    );
    let deep: Schema = { type: 'object', properties, default: {} };
    for (let i = 0; i < 90; i++) deep = object(deep, { default: {} });
    expect(texts(object(deep))).toEqual([]);
  });
});
