/** Properties of pruning, defaulting and validation that hold for any schema and any object. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import type { JsonObject } from '../text/object.ts';
import { compileSchema } from './compiled-schema.ts';
import { checkSchema } from './schema-check.ts';

const names = ['a', 'b', 'constructor', '__proto__'] as const;

const { schema: anySchema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.record(
      {
        type: fc.constantFrom('string', 'integer', 'boolean'),
        nullable: fc.boolean(),
        'x-kubernetes-preserve-unknown-fields': fc.constant(true),
      },
      { requiredKeys: ['type'] },
    ),
    fc.constantFrom<Schema[]>(
      { type: 'integer', default: 1 },
      { type: 'string', default: 'x', maxLength: 2 },
      { type: 'string', nullable: true, default: 'y' },
      { 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    fc
      .tuple(
        fc.dictionary(fc.constantFrom(...names.slice(0, 3)), tie('schema'), { maxKeys: 3 }),
        fc.option(fc.constant({}), { nil: undefined }),
        fc.boolean(),
      )
      .map(
        ([properties, preset, preserve]): Schema => ({
          type: 'object',
          properties,
          ...(preset && { default: preset }),
          ...(preserve && { 'x-kubernetes-preserve-unknown-fields': true }),
        }),
      ),
  ),
}));

const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, 1, 1.5, 'x', 'long text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 4 }),
  ),
})).value;

const pair = fc.record({
  schema: anySchema.map((spec): Schema => ({ type: 'object', properties: { spec } })),
  object: fc.record({
    apiVersion: fc.constant('g/v1'),
    kind: fc.constant('K'),
    spec: anyValue,
    extra: anyValue,
  }),
});

const copy = (value: unknown): JsonObject => structuredClone(value) as JsonObject;

describe('for any schema and object', () => {
  it('pruning twice prunes once', () => {
    fc.assert(
      fc.property(pair, ({ schema, object }) => {
        const compiled = compileSchema(schema);
        const once = copy(object);
        compiled.prune(once);
        expect('extra' in once).toBe(false);
        const twice = copy(once);
        expect(compiled.prune(twice)).toEqual([]);
        expect(twice).toEqual(once);
      }),
    );
  });

  it('defaulting twice defaults once, and leaves nothing to prune', () => {
    fc.assert(
      fc.property(pair, ({ schema, object }) => {
        const compiled = compileSchema(schema);
        const once = copy(object);
        compiled.prune(once);
        compiled.applyDefaults(once);
        const twice = copy(once);
        compiled.applyDefaults(twice);
        expect(twice).toEqual(once);
        expect(compiled.prune(twice)).toEqual([]);
        expect(twice).toEqual(once);
      }),
    );
  });

  it('what was valid stays valid when it is pruned and defaulted by a checked schema', () => {
    fc.assert(
      fc.property(pair, ({ schema, object }) => {
        if (checkSchema(schema, 'schema', { statusEnabled: false }).length) return;
        const compiled = compileSchema(schema);
        if (compiled.validate(copy(object)).errors.length) return;
        const stored = copy(object);
        compiled.prune(stored);
        compiled.applyDefaults(stored);
        expect(compiled.validate(stored).errors).toEqual([]);
      }),
    );
  });

  it('an update that changes nothing is never refused', () => {
    fc.assert(
      fc.property(pair, ({ schema, object }) => {
        expect(compileSchema(schema).validate(copy(object), { old: copy(object) }).errors).toEqual([]);
      }),
    );
  });
});
