/** Proves that the body of an apply may hold whatever the type of a field allows, unions among it. */
import { describe, expect, it } from 'vitest';
import { modelOf } from '../model/model.ts';
import { typedProblem } from './field-check.ts';

const definition = (schema: object): Record<string, unknown> => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'boats', kind: 'Boat' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

const model = modelOf('CustomResourceDefinition', 'apiextensions-v1');

describe('an applied definition', () => {
  it.each<[string, object]>([
    ['items of one schema', { type: 'array', items: { type: 'string' } }],
    ['items of several schemas', { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] }],
    ['additional properties of a schema', { additionalProperties: { type: 'string' } }],
    ['additional properties or none', { additionalProperties: false, additionalItems: true }],
    ['additional items of a schema', { additionalItems: { type: 'string' } }],
    ['dependencies of both kinds', { dependencies: { a: ['b'], c: { required: ['d'] } } }],
    ['values of any type', { default: [1, { a: null }], example: 'x', enum: [1, 'a', { b: 2 }, [3]] }],
    ['all of them inside others', { properties: { a: { items: { additionalProperties: { items: {} } } } } }],
  ])('may have %s', (_, schema) => {
    expect(typedProblem(model, definition(schema))).toBeUndefined();
  });

  it('still has fields with one type', () => {
    expect(typedProblem(model, definition({ properties: { a: { type: 5 } } }))).toMatch(/expected string/);
    expect(typedProblem(model, definition({ nope: true }))).toMatch(/field not declared in schema/);
  });
});
