/**
 * Proves that protobuf bodies decode to the same value as JSON would: protobufjs encodes what fast-check makes
 * from the field tables, for every stored kind. And that hostile bytes only ever give a ProtobufError.
 */
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { Field, Model, modelOf } from '../model/model.ts';
import { arbitraryObject, dropped, fullObject } from '../model/table-objects.fixture.ts';
import { parseExact } from '../text/exact-json.ts';
import { jsonText } from '../text/json-text.ts';
import type { JsonObject } from '../text/object.ts';
import { decodeProtobuf, ProtobufError } from './protobuf.ts';
import { encoders } from './protobuf-encoder.fixture.ts';

const kinds: [table: string, kind: string][] = [
  ...[
    'Binding ConfigMap DeleteOptions Endpoints Event Eviction LimitRange Namespace Node PersistentVolume',
    'PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount',
    'Status TokenRequest APIResourceList PodList',
  ]
    .join(' ')
    .split(' ')
    .map((kind): [string, string] => ['core-v1', kind]),
  ['extensions-v1beta1', 'HorizontalPodAutoscaler'],
  ['extensions-v1beta1', 'Ingress'],
  ['extensions-v1beta1', 'Job'],
  ['extensions-v1beta1', 'Scale'],
  ['apps-v1', 'ControllerRevision'],
  ['apps-v1', 'DaemonSet'],
  ['apps-v1', 'Deployment'],
  ['apps-v1', 'ReplicaSet'],
  ['apps-v1', 'StatefulSet'],
  ['autoscaling-v1', 'HorizontalPodAutoscaler'],
  ['autoscaling-v2', 'HorizontalPodAutoscaler'],
  ['batch-v1', 'CronJob'],
  ['batch-v1', 'Job'],
  ['batch-v1beta1', 'CronJob'],
  ['coordination-v1', 'Lease'],
  ['events-v1', 'Event'],
  ['policy-v1', 'PodDisruptionBudget'],
  ['policy-v1beta1', 'PodDisruptionBudget'],
  ['rbac-v1', 'ClusterRole'],
  ['rbac-v1', 'ClusterRoleBinding'],
  ['rbac-v1', 'Role'],
  ['rbac-v1', 'RoleBinding'],
  ['scheduling-v1', 'PriorityClass'],
];

const bodyOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const coreModel = (_apiVersion: string, kind: string): Model => modelOf(kind);
const decode = (bytes: Buffer, model?: Model) => decodeProtobuf(bytes, () => model ?? modelOf('Pod')).value;

describe('bodies of real clients', () => {
  test('kubectl create ns pbns', () => {
    const body = bodyOf(
      '6b387300 0a0f 0a027631 12094e616d657370616365 121c 0a14 0a0470626e73 1200 1a00 2200 2a00 3200 3800 4200 1200 1a020a00 1a00 2200',
    );
    expect(decodeProtobuf(body, coreModel)).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      value: { metadata: { name: 'pbns' }, spec: {}, status: {} },
    });
  });

  test('empty DeleteOptions', () => {
    const body = bodyOf('6b387300 0a13 0a027631 120d44656c6574654f7074696f6e73 1200 1a00 2200');
    expect(decodeProtobuf(body, coreModel)).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions', value: {} });
  });
});

describe.each(kinds)('%s %s', (table, kind) => {
  const model = modelOf(kind, table);

  test.each([
    ['unpacked', 0],
    ['packed', 1],
  ])('every field, %s', (_name, encoder) => {
    const value = fullObject(model);
    expect(decode(encoders[encoder]!.body(model, value), model)).toEqual(value);
  });

  test('any object', () => {
    fc.assert(
      fc.property(arbitraryObject(model), fc.constantFrom(...encoders), (value, encoder) => {
        // Whole numbers beyond 2^53 are read as bigint.
        const expected = parseExact(jsonText(dropped(model, value)));
        const decoded = decodeProtobuf(encoder.body(model, value, 'g/v1'), (apiVersion, name) => {
          expect([apiVersion, name]).toEqual(['g/v1', kind]);
          return model;
        });
        expect(decoded.value).toEqual(expected);
      }),
      { numRuns: rounds(25) },
    );
  });
});

/** A message, as bytes or hex, in the envelope of a Pod. */
function podBody(message: string | Buffer): Buffer {
  const raw = typeof message === 'string' ? bodyOf(message) : message;
  const field = protobuf.Writer.create().uint32(0x12).bytes(raw).finish();
  return Buffer.concat([bodyOf('6b387300 0a09 0a027631 1203506f64'), field]);
}

describe('mapping', () => {
  test('pointers keep zero, others lose it', () => {
    const model = modelOf('ReplicationController');
    const value = {
      spec: { replicas: 0, minReadySeconds: 0, template: { spec: { hostUsers: false, hostPID: false } } },
    };
    expect(decode(encoders[0]!.body(model, value), model)).toEqual({
      spec: { replicas: 0, template: { spec: { hostUsers: false } } },
    });
  });

  test('an empty struct behind a pointer stays', () => {
    const value = { spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } };
    expect(decode(encoders[0]!.body(modelOf('Pod'), value))).toEqual(value);
  });

  test('map values and list items may be empty', () => {
    const value = { metadata: { labels: { a: '' }, finalizers: ['', 'b'] } };
    expect(decode(encoders[0]!.body(modelOf('Pod'), value))).toEqual(value);
    // An entry without key and value, as senders of proto3 write it.
    expect(decode(podBody('0a02 5a00'))).toEqual({ metadata: { labels: { '': '' } } });
  });

  test('texts of a large body', () => {
    const data = { ascii: 'a'.repeat(20_000), other: 'é🛶'.repeat(5000), short: 'b' };
    const model = modelOf('ConfigMap');
    const body = encoders[0]!.body(model, { data });
    expect(decode(body, model)).toEqual({ data });
    body[body.indexOf(0xc3)] = 0xff;
    expect(() => decode(body, model)).toThrow('invalid UTF-8');
  });

  test('integers of 64 bits', () => {
    const generation = (hex: string) =>
      (decode(podBody(hex)) as { metadata: JsonObject }).metadata['generation'];
    expect(generation('0a09 38 8180808080808010')).toBe(9007199254740993n);
    expect(generation('0a0b 38 80808080808080808001')).toBe(-9223372036854775808n);
    expect(generation('0a09 38 ffffffffffffff0f')).toBe(9007199254740991);
  });

  test('a message that comes twice is merged, of a scalar the last counts, also when it is empty', () => {
    // metadata {name a, namespace b}, metadata {name ""}
    expect(decode(podBody('0a06 0a0161 1a0162 0a02 0a00'))).toEqual({ metadata: { namespace: 'b' } });
  });

  test('unknown fields of all wire types are skipped', () => {
    // metadata {1000 varint, 1001 fixed64, 1002 bytes, 1003 fixed32, name a}
    const fields = 'c03e ff01 c93e 0102030405060708 d23e 02abcd dd3e 01020304 0a0161';
    const length = bodyOf(fields).length.toString(16);
    expect(decode(podBody(`0a${length} ${fields}`))).toEqual({ metadata: { name: 'a' } });
  });

  test('times', () => {
    const at = (hex: string) =>
      (decode(podBody(hex)) as { metadata: JsonObject }).metadata['creationTimestamp'];
    expect(at('0a02 4200')).toBeUndefined();
    expect(at('0a04 42020800')).toBe('1970-01-01T00:00:00Z');
    // Go's zero time, the first second of year 1.
    expect(at('0a0d 420b 08 8092b8c398feffffff01')).toBeUndefined();
    expect(() => at('0a0d 420b 08 ffffffffffffff7f 1000')).toThrow(ProtobufError);
  });

  test('__proto__ is an ordinary map key', () => {
    const labels = decode(podBody('0a10 5a0e 0a095f5f70726f746f5f5f 120161')) as {
      metadata: { labels: object };
    };
    expect(Object.keys(labels.metadata.labels)).toEqual(['__proto__']);
  });
});

describe('refused', () => {
  const cases: [what: string, body: Buffer, message: string][] = [
    ['nothing', Buffer.alloc(0), 'does not appear to be a protobuf message'],
    ['half a prefix', bodyOf('6b38'), 'does not appear to be a protobuf message'],
    ['JSON', Buffer.from('{"kind":"Pod"}'), 'expected prefix [107 56 115 0]'],
    ['contentEncoding', bodyOf('6b387300 1a04677a6970'), 'contentEncoding'],
    ['contentType', bodyOf('6b387300 220161'), 'contentType'],
    ['typeMeta as a number', bodyOf('6b387300 0801'), 'wrong wireType = 0'],
    ['a text as a number', podBody('0a02 0801'), 'proto: ObjectMeta: wrong wireType = 0 for field name'],
    [
      'a number as a text',
      podBody('0a03 3a0161'),
      'proto: ObjectMeta: wrong wireType = 2 for field generation',
    ],
    ['a message as a fixed64', podBody('090102030405060708'), 'wrong wireType = 1 for field metadata'],
    ['a length past the message', podBody('0a02 0a05 6161616161'), 'unexpected EOF'],
    ['a length past 32 bits', podBody('0a ffffffff7f'), 'unexpected EOF'],
    ['a varint cut off', podBody('0a02 3880'), 'unexpected EOF'],
    ['a varint of eleven bytes', podBody('0a0c 38 8080808080808080808001'), 'proto: integer overflow'],
    ['a varint of 65 bits', podBody('0a0b 38 80808080808080808002'), 'proto: integer overflow'],
    ['field number 0', podBody('0001'), 'proto: Pod: illegal tag 0 (wire type 0)'],
    ['a tag of 33 bits', podBody('8880808010 01'), 'illegal tag'],
    ['a group', podBody('a306 a406'), 'groups are not supported'],
    ['the end of a group', podBody('a406'), 'groups are not supported'],
    ['wire type 7', podBody('a706'), 'illegal wireType 7'],
    ['text that is not UTF-8', podBody('0a03 0a01ff'), 'invalid UTF-8'],
    ['broken JSON inside', podBody('0a08 8a0105 3a03 0a017b'), 'RawExtension: unexpected end of JSON input'],
  ];
  test.each(cases)('%s', (_what, body, message) => {
    expect(() => decode(body)).toThrow(ProtobufError);
    expect(() => decode(body)).toThrow(message);
  });

  test('an unknown kind', () => {
    expect(() => decodeProtobuf(podBody(''), () => undefined)).toThrow(
      new ProtobufError('no kind "Pod" is registered for version "v1"'),
    );
  });

  test('an unknown type of IntOrString', () => {
    const model = modelOf('TCPSocketAction');
    expect(() => decode(podBody('0a02 0802'), model)).toThrow('IntOrString: unknown type 2');
  });

  test('U+FFFD itself is text', () => {
    expect(decode(podBody('0a05 0a03efbfbd'))).toEqual({ metadata: { name: '\ufffd' } });
  });

  test('too many items, too deep', () => {
    const items = Buffer.alloc(2 * 200_000, bodyOf('1200'));
    expect(decode(podBody(items), modelOf('PodList'))['items']).toHaveLength(200_000);
    const more = Buffer.concat([items, bodyOf('1200')]);
    expect(() => decode(podBody(more), modelOf('PodList'))).toThrow('proto: too many items');

    class Endless extends Field {
      override get model(): Model {
        return endless;
      }
    }
    const endless = new Model('Endless', 'core-v1', { order: [], fields: {} });
    const again = new Endless('again', { ref: 'Endless', pb: [1, 'Endless'] }, 'core-v1');
    (endless.fields as Map<string, Field>).set('again', again);
    let raw = Buffer.alloc(0);
    const nest = () => {
      raw = Buffer.from(protobuf.Writer.create().uint32(0x0a).bytes(raw).finish());
    };
    for (let level = 0; level < 100; level += 1) nest();
    expect(decode(podBody(raw), endless)).toHaveProperty('again.again.again');
    nest();
    expect(() => decode(podBody(raw), endless)).toThrow('proto: exceeded max depth');
  });
});

describe('hostile bytes give a value or a ProtobufError', () => {
  const bodies = ['Pod', 'PersistentVolume', 'Event', 'Service', 'Secret', 'Node'].map((kind) => {
    const model = modelOf(kind);
    return { model, body: encoders[0]!.body(model, fullObject(model)) };
  });
  const attempt = (body: Buffer, model: Model): boolean => {
    try {
      decode(body, model);
      return true;
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      return false;
    }
  };

  /** Where a message may end: at its beginning and after each of its fields. */
  const boundaries = (bytes: Buffer): Set<number> => {
    const reader = protobuf.Reader.create(bytes);
    const found = new Set([0]);
    while (reader.pos < reader.len) {
      reader.skipType(reader.uint32() & 7);
      found.add(reader.pos);
    }
    return found;
  };

  test('every truncation is refused, except between two fields', () => {
    const wrong: unknown[] = [];
    // All but the Pod, which takes ten times as long and has nothing new at its top.
    for (const { model, body } of bodies.filter((each) => each.body.length < 3000)) {
      const ends = boundaries(body.subarray(4));
      for (let length = 0; length < body.length; length += 1)
        if (attempt(body.subarray(0, length), model) !== ends.has(length - 4))
          wrong.push([model.name, length]);
      const message = encoders[0]!.message(model, fullObject(model));
      const raw = Buffer.from(encoders[0]!.typeOf(model).encode(message).finish());
      const rawEnds = boundaries(raw);
      for (let length = 0; length < raw.length; length += 1)
        if (attempt(podBody(raw.subarray(0, length)), model) !== rawEnds.has(length))
          wrong.push([model.name, 'raw', length]);
    }
    expect(wrong).toEqual([]);
  });

  test('flipped bits', () => {
    for (const { model, body } of bodies) {
      // Up to a thousand places in each before a release, spread evenly, with every bit in turn.
      const step = Math.ceil(body.length / rounds(1_000));
      for (let at = 0; at < body.length; at += step) {
        const flipped = Buffer.from(body);
        flipped[at]! ^= 1 << ((at / step) % 8);
        attempt(flipped, model);
      }
    }
  });

  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...bodies), (bytes, { model }) => {
        attempt(podBody(Buffer.from(bytes)), model);
        attempt(Buffer.concat([Buffer.from('k8s\0'), bytes]), model);
        attempt(Buffer.from(bytes), model);
      }),
      { numRuns: rounds(2000) },
    );
  });
});
