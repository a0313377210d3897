/**
 * Proves that no schema of a definition is a surprise: every list and map of it null, empty and with empty members, at
 * every place where a schema can be, by create, update, every patch and apply. Nothing of this is an internal error, and
 * what was taken serves objects and documents.
 */
import { expect, it } from 'vitest';
import { modelOf } from '../../src/api/model/model.ts';
import { isFault } from '../support/faults.ts';
import { type Json, jsonPatch, mergePatch, type Reply } from '../support/http.ts';
import { useTarget } from '../support/target.ts';
import { isRelease } from '../support/tier.ts';

const target = useTarget({ controllers: false, like: 'kubernetes' });
const home = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const applyPatch = 'application/apply-patch+yaml';

const definition = (name: string, schema: Json): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}s.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: `${name}s`, kind: `K${name}` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

/** Where a schema can be inside another one. */
const places: readonly ((inner: Json) => Json)[] = [
  (inner) => ({ type: 'object', ...inner }),
  (inner) => ({ type: 'object', properties: { spec: { type: 'object', ...inner } } }),
  (inner) => ({
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'object', ...inner } } },
  }),
  (inner) => ({
    type: 'object',
    properties: { map: { type: 'object', additionalProperties: { type: 'object', ...inner } } },
  }),
  (inner) => ({ type: 'object', properties: { spec: { type: 'object', allOf: [inner], not: inner } } }),
];

const holding: readonly string[] = ['array', 'map', 'model', 'union'];
const odd = [null, [], {}, [null], [{}], { a: null }, { a: {} }, { a: [null] }];

/** Every list, map and union of a schema; before a release all that a schema can say. */
const values = modelOf('JSONSchemaProps', 'apiextensions-v1')
  .order.filter(({ type }) => isRelease || holding.includes(type))
  .map(({ name, type }) => [name, holding.includes(type) ? [...odd, [[null]], '', 0, false] : odd] as const);

async function send(method: string, path: string, body?: Json, type = 'application/json'): Promise<Reply> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const reply = await target.request(method, path, text, { 'Content-Type': type });
  const failures = target.failures.splice(0).map(({ stack }) => stack);
  if (failures.length || isFault(reply))
    throw new Error([`${method} ${path} ${type} ${text}`, reply.text, ...failures].join('\n'));
  return reply;
}

it.each(places.map((place, i) => [i, place] as const))('at place %i', async (i, place) => {
  const base = definition(`base${i}`, { type: 'object' });
  expect((await send('POST', home, base)).status).toBe(201);
  const path = `${home}/${base.metadata.name}`;
  const dry = `${path}?dryRun=All`;
  let [count, turn] = [0, 0];
  for (const [name, forms] of values)
    for (const form of forms) {
      // Before a release everything at each place; else at two of the five.
      if (!isRelease && (turn++ + i) % 5 > 1) continue;
      const schema = place({ [name]: form });
      const made = definition(`k${i}x${count++}`, schema);
      const reply = await send('POST', `${home}?dryRun=All`, made);
      const replacing = { ...base, spec: { ...base.spec, versions: made.spec.versions } };
      const versions = '/spec/versions/0/schema/openAPIV3Schema';
      const ways = [
        () => send('PATCH', dry, { spec: { versions: made.spec.versions } }, mergePatch),
        () => send('PATCH', dry, [{ op: 'replace', path: versions, value: schema }], jsonPatch),
        () => send('PATCH', `${dry}&force=true&fieldManager=sweep`, replacing, applyPatch),
        async () => {
          const { body: stored } = await send('GET', path);
          return send('PUT', dry, { ...stored, spec: replacing.spec });
        },
      ];
      await ways[count % ways.length]!();
      // Some of what is taken is also used.
      if (reply.status !== 201 || count % 5) continue;
      expect((await send('POST', home, made)).status).toBe(201);
      const objects = `/apis/example.com/v1/namespaces/default/${made.spec.names.plural}`;
      const object = { apiVersion: 'example.com/v1', kind: made.spec.names.kind, metadata: { name: 'a' } };
      await send('POST', objects, { ...object, spec: { a: 1 }, list: [null, {}], map: { a: null } });
      await send('DELETE', `${home}/${made.metadata.name}`);
    }
  expect((await send('GET', '/openapi/v2')).status).toBe(200);
});
