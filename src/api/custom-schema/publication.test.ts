/** Proves what OpenAPI documents show of custom schemas, with the recorded models of a Kubernetes server. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Schema } from '../model/json-schema.ts';
import { publishedSchema } from './publication.ts';

const { cases } = JSON.parse(
  readFileSync(new URL('../../../test/recorded/crd-cases.json', import.meta.url), 'utf8'),
) as { cases: { name: string; body: never; expect: { at: Record<string, unknown> } }[] };

const recorded = (name: string) => cases.find((one) => one.name === name)!;

const { spec } = recorded('widgets: create widgets').body as {
  spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
};
const widgets = spec.versions[0]!.schema.openAPIV3Schema;

const field = { description: '<text>', type: 'string' };
const metaV3 = {
  apiVersion: field,
  kind: field,
  metadata: {
    description: '<text>',
    allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
  },
};
const metaV2 = { ...metaV3, metadata: { $ref: '#/definitions/ObjectMeta' } };

const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((inner, name) => (inner as Record<string, unknown>)[name], value);

it.each([
  ['widgets: openapi v3', '/components/schemas/com.example.apps.v1.Widget', 'v3', metaV3],
  ['widgets: openapi v2', '/definitions/com.example.apps.v1.Widget', 'v2', metaV2],
] as const)('%s', (name, prefix, form, meta) => {
  const published = publishedSchema(widgets, form, meta);
  const places = Object.entries(recorded(name).expect.at).filter(
    ([pointer]) => pointer.startsWith(`${prefix}/`) && !pointer.includes('/x-kubernetes-'),
  );
  expect(places.length).toBeGreaterThan(4);
  for (const [pointer, value] of places) expect(at(published, pointer.slice(prefix.length))).toEqual(value);
});

it('keeps an own choice of int or string, and shows no more than an object of a root that preserves fields', () => {
  const choice = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  const schema: Schema = { type: 'object', properties: { a: choice } };
  expect(publishedSchema(schema, 'v3', metaV3).properties).toMatchObject({ a: choice });
  const open = { ...schema, description: 'A boat.', 'x-kubernetes-preserve-unknown-fields': true };
  expect(publishedSchema(open, 'v2', metaV2)).toEqual({ type: 'object' });
  expect(publishedSchema(open, 'v3', metaV3)).toMatchObject({ description: 'A boat.', properties: metaV3 });
});
