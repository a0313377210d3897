/**
 * Proves that objects are written in protobuf as the field tables say: protobufjs decodes what is made from any object of
 * every kind to the same value, and so does the decoder of request bodies.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtinKinds } from '../kinds/kinds.ts';
import { type Model, modelOf } from '../model/model.ts';
import { arbitraryObject, dropped, fullObject, isFlat } from '../model/table-objects.fixture.ts';
import { parseExact } from '../text/exact-json.ts';
import { jsonText } from '../text/json-text.ts';
import type { JsonObject } from '../text/object.ts';
import { decodeProtobuf } from './protobuf.ts';
import { decodedDocument, decodedEvent, decodedMessage } from './protobuf-decoder.fixture.ts';
import { encodeDocument, eventFrame, frameBytes } from './protobuf-envelope.ts';
import { encodeMessage } from './protobuf-message.ts';

const others: [name: string, table: string][] = [
  ['Status', 'core-v1'],
  ['PartialObjectMetadata', 'core-v1'],
  ['APIGroupList', 'core-v1'],
  ['APIResourceList', 'core-v1'],
  ['APIVersions', 'core-v1'],
  ['ComponentStatus', 'core-v1'],
  ['TokenRequest', 'core-v1'],
  ['Scale', 'autoscaling-v1'],
  ['Scale', 'extensions-v1beta1'],
  ['TokenReview', 'authentication-v1'],
  ['SelfSubjectReview', 'authentication-v1'],
  ['SubjectAccessReview', 'authorization-v1'],
  ['SelfSubjectRulesReview', 'authorization-v1'],
];

const models: [string, Model][] = [
  ...builtinKinds
    .filter(({ model }) => isFlat(model))
    .map(({ id, version, model }): [string, Model] => [`${id} ${version}`, model]),
  ...others.map(([name, table]): [string, Model] => [`${table} ${name}`, modelOf(name, table)]),
];

describe.each(models)('%s', (_name, model) => {
  test('every field', () => {
    const value = fullObject(model);
    const message = encodeMessage(model, value);
    expect(decodedMessage(model, message)).toEqual(value);
    expect(decodeProtobuf(encodeDocument(type, model, value).bytes, () => model).value).toEqual(value);
  });

  test('any object', () => {
    fc.assert(
      fc.property(arbitraryObject(model), (value) => {
        const expected = parseExact(jsonText(dropped(model, value)));
        expect(decodedMessage(model, encodeMessage(model, value))).toEqual(expected);
      }),
      { numRuns: 5 },
    );
  });
});

test('schemas inside schemas, and fields that are one of two types', () => {
  const definition = modelOf('CustomResourceDefinition', 'apiextensions-v1');
  const openAPIV3Schema = {
    type: 'object',
    additionalProperties: true,
    properties: {
      a: { type: 'array', items: { type: 'string', enum: ['x', 1, null] }, additionalItems: false },
      b: { type: 'object', additionalProperties: { type: 'integer', default: 7 } },
      c: { items: [{ type: 'string' }, { not: { type: 'string' } }] },
      d: { dependencies: { e: ['f', 'g'], h: { required: ['i'] } } },
    },
  };
  const value = {
    metadata: { name: 'd' },
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema } }] },
  };
  const { bytes } = encodeDocument(type, definition, value);
  expect(decodeProtobuf(bytes, () => definition).value).toMatchObject(value);
});

const type = { kind: 'K', apiVersion: 'v1' };
const pod = modelOf('Pod');
const rewritten = (model: Model, value: JsonObject) => decodedMessage(model, encodeMessage(model, value));

test('numbers of every size', () => {
  for (const generation of [1, 127, 128, 16_384, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1, -1, -(2 ** 40)])
    expect(rewritten(pod, { metadata: { generation } })).toEqual({ metadata: { generation } });
  for (const generation of [2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)])
    expect(rewritten(pod, { metadata: { generation } })).toEqual({ metadata: { generation } });
});

test('zeros are written where unset is something else', () => {
  const spec = { replicas: 0, minReadySeconds: 0, template: { spec: { hostUsers: false, hostPID: false } } };
  expect(rewritten(modelOf('ReplicationController'), { spec })).toEqual({
    spec: { replicas: 0, template: { spec: { hostUsers: false } } },
  });
  const volumes = { volumes: [{ name: 'tmp', emptyDir: {} }] };
  expect(rewritten(pod, { spec: volumes })).toEqual({ spec: volumes });
});

test('texts of every length and script', () => {
  for (const text of ['a', 'é', '🛶', 'a'.repeat(40), 'é'.repeat(40), 'x'.repeat(300_000), 'ÿ'.repeat(99)])
    expect(rewritten(modelOf('ConfigMap'), { data: { [text.slice(0, 4)]: text } })).toEqual({
      data: { [text.slice(0, 4)]: text },
    });
});

test('lists in a message of their own may be empty', () => {
  const extra = { none: [], one: ['a'] };
  for (const [model, value] of [
    [modelOf('SubjectAccessReview', 'authorization-v1'), { spec: { user: 'u', extra } }],
    [modelOf('APIResourceList'), { resources: [{ name: 'none', verbs: [] }] }],
  ] as const) {
    expect(rewritten(model, value)).toEqual(value);
    expect(decodeProtobuf(encodeDocument(type, model, value).bytes, () => model).value).toMatchObject(value);
  }
});

test('managed fields are JSON inside', () => {
  const fieldsV1 = { 'f:data': { '.': {}, 'f:ü': {}, 'k:{"name":"a"}': { 'f:image': {} } } };
  const managedFields = [
    {
      manager: 'm',
      operation: 'Apply',
      apiVersion: 'v1',
      time: '2026-01-02T03:04:05Z',
      fieldsType: 'FieldsV1',
      fieldsV1,
    },
  ];
  expect(rewritten(pod, { metadata: { managedFields } })).toEqual({ metadata: { managedFields } });
});

test('the same object gives the same bytes, fields by number and keys sorted', () => {
  const [b, a] = [
    { labels: { b: '2', a: '1' }, name: 'n' },
    { name: 'n', labels: { a: '1', b: '2' } },
  ];
  const bytes = encodeMessage(pod, { metadata: a });
  expect(encodeMessage(pod, { metadata: b })).toEqual(bytes);
  expect(bytes.toString('hex')).toBe('0a13' + '0a016e' + '5a060a0161120131' + '5a060a0162120132');
});

test('an object that cannot be written leaves nothing behind', () => {
  const broken = {
    metadata: {
      name: 'n',
      labels: {
        get a(): string {
          throw new Error('no');
        },
      },
    },
  };
  expect(() => encodeMessage(pod, broken)).toThrow('no');
  expect(rewritten(pod, { metadata: { name: 'n' } })).toEqual({ metadata: { name: 'n' } });
});

test('a frame of a watch has its length in four bytes, and a whole document inside', () => {
  const document = encodeDocument({ kind: 'Pod', apiVersion: 'v1' }, pod, { metadata: { name: 'n' } });
  const frame = eventFrame('ADDED', document);
  expect(frame.readUInt32BE(0)).toBe(frame.length - frameBytes);
  const { type, object } = decodedEvent(frame.subarray(frameBytes));
  expect([type, decodedDocument(object, pod)]).toEqual([
    'ADDED',
    { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'n' } },
  ]);
});
