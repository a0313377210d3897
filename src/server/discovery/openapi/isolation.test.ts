/** Proves that a custom kind whose schema cannot be described takes no document away from other kinds. */
import { expect, it } from 'vitest';
import { Descriptions } from '../../../api/model/descriptions.ts';
import type { Schema as CustomSchema } from '../../../api/model/json-schema.ts';
import { type ModelDefinition, modelsOf } from '../../../api/model/model.ts';
import { givenAtOnce } from '../../../time-slices.ts';
import { encodeV2 } from './gnostic.ts';
import { Definitions } from './schema.ts';
import type { DocumentV2 } from './v2.ts';

const modelWith = (listKind: string, schema: CustomSchema): ModelDefinition => ({
  order: ['kind', 'apiVersion', 'metadata'],
  fields: {
    kind: { type: 'string' },
    apiVersion: { type: 'string' },
    metadata: { ref: 'core-v1:ObjectMeta', empty: 'zero' },
  },
  open: true,
  custom: { schema, listKind, selectableFields: [] },
});

/** Stands for whatever a document cannot hold. */
const unreadable = new Proxy({} as CustomSchema, {
  ownKeys() {
    throw new Error('cannot be read');
  },
});

const models = modelsOf({
  apiVersion: 'example.com/v1',
  models: {
    Broken: modelWith('BrokenList', { type: 'object', properties: { spec: unreadable } }),
    Whole: modelWith('WholeList', { type: 'object', properties: { spec: { type: 'string' } } }),
  },
});

it.each(['v2', 'v3'] as const)('%s has the others, and the kind as an object', async (dialect) => {
  const definitions = new Definitions(dialect, await Descriptions.load());
  for (const name of ['Broken', 'Whole']) definitions.model(models(name));
  givenAtOnce(definitions.define());
  const { schemas } = definitions;
  expect(schemas['com.example.v1.Broken']).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Broken' }],
  });
  expect(schemas['com.example.v1.Whole']?.properties?.spec).toEqual({ type: 'string' });
});

it('the protobuf form has the others', () => {
  const document: DocumentV2 = {
    swagger: '2.0',
    info: { title: 'Test', version: '1' },
    paths: {},
    definitions: {
      Broken: { type: 'object', properties: unreadable as never },
      Whole: { type: 'object', description: 'Something whole.' },
    },
    parameters: {},
  };
  const writing = encodeV2(document);
  let step = writing.next();
  while (!step.done) step = writing.next();
  expect(step.value.toString()).toContain('Something whole.');
  expect(step.value.toString()).toContain('Broken');
});
