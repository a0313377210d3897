/**
 * Proves that messages made from the text of an object are those that are made from the object, byte for byte, and that
 * texts of another form are left alone.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtinKinds } from '../kinds/kinds.ts';
import { encodeObject } from '../model/encode.ts';
import { type Model, modelOf } from '../model/model.ts';
import { arbitraryObject, fullObject, isFlat } from '../model/table-objects.fixture.ts';
import { parseExact } from '../text/exact-json.ts';
import { jsonText } from '../text/json-text.ts';
import type { JsonObject } from '../text/object.ts';
import { encodeMessage } from './protobuf-message.ts';
import { textMessage } from './text-message.ts';

const models = [
  ...builtinKinds.filter(({ model }) => isFlat(model)).map(({ id, model }): [string, Model] => [id, model]),
  ['metadata', modelOf('PartialObjectMetadata')] as [string, Model],
];

const made = (model: Model, text: string): Buffer | undefined => {
  const bytes = Buffer.from(`${text}\n`);
  const message = textMessage(model, bytes, bytes.length - 1);
  return message && Buffer.from(message);
};
const parsed = (model: Model, text: string): Buffer => encodeMessage(model, parseExact(text) as JsonObject);

describe.each(models)('%s', (_id, model) => {
  test('every field', () => {
    const text = encodeObject(model, { kind: 'K', apiVersion: 'v1', ...fullObject(model) });
    expect(made(model, text)).toEqual(parsed(model, text));
  });

  test('any object', () => {
    fc.assert(
      fc.property(arbitraryObject(model), (value) => {
        const text = encodeObject(model, value);
        const message = made(model, text);
        if (message) expect(message).toEqual(parsed(model, text));
      }),
      { numRuns: 5 },
    );
  });
});

const pod = modelOf('Pod');

test.each([
  ['texts with escapes and other scripts', { metadata: { annotations: { 'a"\\\n': 'é"🛶\u0001' } } }],
  [
    'long texts',
    { metadata: { annotations: { a: 'x'.repeat(127), b: 'x'.repeat(128), c: 'x'.repeat(20_000) } } },
  ],
  ['half a character', { metadata: { name: '\ud800' } }],
  ['numbers', { metadata: { generation: 999_999_999_999_999 }, spec: { priority: -5, containers: [] } }],
  ['zeros where they differ from unset', { spec: { automountServiceAccountToken: false, containers: [] } }],
  [
    'fields that are not in the order of their numbers',
    {
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }],
      },
    },
  ],
  [
    'embedded messages',
    {
      spec: {
        volumes: [
          { name: 'a', emptyDir: {} },
          { name: 'b', secret: { secretName: 's', defaultMode: 420 } },
        ],
        ephemeralContainers: [{ name: 'e', image: 'i', targetContainerName: 't', env: [{ name: 'n' }] }],
        containers: [
          {
            name: 'c',
            env: [{ name: 'n', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } }],
            livenessProbe: { httpGet: { port: 'http', path: '/' }, periodSeconds: 10 },
            readinessProbe: { tcpSocket: { port: 80 } },
          },
        ],
      },
    },
  ],
  ['times', { metadata: { creationTimestamp: '2028-02-29T23:59:59Z' }, status: { startTime: null } }],
])('%s', (_what, value) => {
  const text = jsonText(value);
  const message = made(pod, text);
  expect(message).toBeDefined();
  expect(message).toEqual(parsed(pod, text));
});

test('lists of lists, and times with fractions', () => {
  const review = modelOf('SubjectAccessReview', 'authorization-v1');
  const extra = jsonText({ spec: { user: 'u', extra: { none: [], one: ['a', ''] } } });
  expect(made(review, extra)).toEqual(parsed(review, extra));
  const lease = modelOf('Lease', 'coordination-v1');
  for (const fraction of ['000000', '000123', '120000', '123456789', '5']) {
    const text = jsonText({ spec: { renewTime: `2026-11-15T00:06:29.${fraction}Z` } });
    expect(made(lease, text), fraction).toEqual(parsed(lease, text));
  }
});

test.each([
  ['spaces', '{"metadata": {"name":"n"}}'],
  ['spaces in raw values', '{"metadata":{"managedFields":[{"fieldsV1":{ }}]}}'],
  ['names with escapes', '{"met\\u0061data":{"name":"n"}}'],
  ['keys that are not sorted', '{"metadata":{"labels":{"b":"1","a":"2"}}}'],
  ['keys of which one begins with the next', '{"metadata":{"labels":{"ab":"1","a":"2"}}}'],
  ['keys that are there twice', '{"metadata":{"labels":{"a":"1","a":"2"}}}'],
  ['numbers that are too long', '{"metadata":{"generation":9223372036854775807}}'],
  ['fractions', '{"metadata":{"generation":1.5}}'],
  ['a number instead of a text', '{"metadata":{"name":1}}'],
  ['a text instead of a number', '{"metadata":{"generation":"1"}}'],
  ['null in a list', '{"metadata":{"finalizers":[null]}}'],
  ['times before 1970', '{"metadata":{"creationTimestamp":"1969-12-31T23:59:59Z"}}'],
  ['times that are none', '{"metadata":{"creationTimestamp":"2026-13-01T00:00:00Z"}}'],
  ['times of another zone', '{"metadata":{"creationTimestamp":"2026-12-01T00:00:00+01:00"}}'],
  ['more behind it', '{"metadata":{"name":"n"}}}'],
  ['less than an object', '{"metadata":{"name":"n"'],
  ['a text without an end', '{"metadata":{"name":"n'],
  ['an unknown field without an end', '{"metadata":{"unknown":"n'],
  ['nothing', ''],
])('%s are left alone', (_what, text) => {
  expect(made(pod, text)).toBeUndefined();
});

test('fields that the model does not have are left out', () => {
  const text = '{"unknown":[{"a":"}"},1,null],"metadata":{"name":"n","other":-1.5e3},"last":true}';
  expect(made(pod, text)).toEqual(parsed(pod, '{"metadata":{"name":"n"}}'));
});

test('what was written before does not matter', () => {
  const texts = [127, 128, 20_000, 1].map((length) =>
    jsonText({ metadata: { annotations: { a: 'x'.repeat(length) } } }),
  );
  for (const text of [...texts, '{"spec":{"containers":[', ...texts.toReversed()])
    if (text.endsWith('}')) expect(made(pod, text)).toEqual(parsed(pod, text));
    else expect(made(pod, text)).toBeUndefined();
});
