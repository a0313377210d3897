/**
 * Proves that protobuf bodies decode to the same value as JSON would: protobufjs encodes what fast-check makes
 * from the field tables, for every stored kind. And that hostile bytes only ever give a ProtobufError.
 */
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { Field, Model, modelOf } from './model.ts';
import type { JsonObject } from './object.ts';
import { decodeProtobuf, ProtobufError } from './protobuf.ts';

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

// --- Encoding with protobufjs, from the protobuf types the tables name -------------------------------------

/** Messages that the tables name but do not describe. */
const helpers: Record<string, [name: string, id: number, type: string, rule?: string][]> = {
  Time: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  MicroTime: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  Quantity: [['string', 1, 'string']],
  IntOrString: [
    ['type', 1, 'int64'],
    ['intVal', 2, 'int32'],
    ['strVal', 3, 'string'],
  ],
  RawExtension: [['raw', 1, 'bytes']],
  FieldsV1: [['Raw', 1, 'bytes']],
  Verbs: [['items', 1, 'string', 'repeated']],
  TypeMeta: [
    ['apiVersion', 1, 'string'],
    ['kind', 2, 'string'],
  ],
  Unknown: [
    ['typeMeta', 1, 'TypeMeta'],
    ['raw', 2, 'bytes'],
    ['contentEncoding', 3, 'string'],
    ['contentType', 4, 'string'],
  ],
};

class Encoder {
  readonly root = new protobuf.Root();
  readonly #types = new Map<Model, protobuf.Type>();

  constructor(readonly packed: boolean) {
    for (const [name, fields] of Object.entries(helpers)) {
      const type = new protobuf.Type(name);
      for (const field of fields) type.add(new protobuf.Field(...field));
      this.root.add(type);
    }
  }

  body(model: Model, value: JsonObject, apiVersion = 'v1'): Buffer {
    const raw = this.typeOf(model).encode(this.message(model, value)).finish();
    const unknown = { typeMeta: { apiVersion, kind: model.name }, raw, contentEncoding: '', contentType: '' };
    const message = this.root.lookupType('Unknown').encode(unknown).finish();
    return Buffer.concat([Buffer.from('k8s\0'), message]);
  }

  typeOf(model: Model): protobuf.Type {
    const known = this.#types.get(model);
    if (known) return known;
    const type = new protobuf.Type(`${model.file}_${model.name}`.replaceAll('-', '_'));
    this.root.add(type);
    this.#types.set(model, type);
    for (const field of model.fields.values()) {
      const [outer, inner] = field.pb;
      if (outer === undefined) continue;
      if (inner === undefined) type.add(this.#field(field, outer));
      else this.#embedded(type, outer).add(this.#field(field, inner));
    }
    return type;
  }

  /** The message that holds the fields with two numbers. */
  #embedded(type: protobuf.Type, number: number): protobuf.Type {
    const name = `${type.name}_embedded${number}`;
    const known = this.root.get(name);
    if (known) return known as protobuf.Type;
    const embedded = new protobuf.Type(name);
    this.root.add(embedded);
    type.add(new protobuf.Field(`embedded${number}`, number, name));
    return embedded;
  }

  #field(field: Field, id: number): protobuf.FieldBase {
    const written = String(field.definition.pb?.at(-1));
    const [, repeated, map, name] = /^(repeated )?(?:(map)<string,)?(\w+)>?$/.exec(written) ?? [];
    const model = [field, field.items, field.values].find((each) => each?.type === 'model')?.model;
    const type = model ? this.typeOf(model).name : name!;
    if (map) return new protobuf.MapField(field.name, id, 'string', type);
    const rule = repeated ? 'repeated' : 'optional';
    const options = repeated && /^int/.test(type) ? { packed: this.packed } : undefined;
    return new protobuf.Field(field.name, id, type, rule, undefined, options);
  }

  /** A JSON value as the message that protobufjs encodes. */
  message(model: Model, value: JsonObject): JsonObject {
    const message: JsonObject = {};
    for (const field of model.fields.values()) {
      const set = value[field.name];
      if (set === undefined || field.pb.length === 0) continue;
      const target =
        field.pb.length === 1 ? message : ((message[`embedded${field.pb[0]}`] ??= {}) as JsonObject);
      target[field.name] = this.#value(field, set);
    }
    return message;
  }

  #value(field: Field, value: unknown): unknown {
    switch (field.type) {
      case 'model':
        return this.message(field.model, value as JsonObject);
      case 'array': {
        const items = (value as unknown[]).map((item) => this.#value(field.items!, item));
        return field.definition.pb?.at(-1) === 'Verbs' ? { items } : items;
      }
      case 'map':
        return Object.fromEntries(
          Object.entries(value as JsonObject).map(([key, item]) => [key, this.#value(field.values!, item)]),
        );
      case 'time':
      case 'microtime': {
        if (value === null) return {};
        const [seconds, fraction = '0'] = (value as string).replace('Z', '').split('.');
        return { seconds: Date.parse(`${seconds}Z`) / 1000, nanos: Number(fraction) * 1000 };
      }
      case 'quantity':
        return { string: value };
      case 'int-or-string':
        return typeof value === 'number'
          ? { type: 0, intVal: value, strVal: '' }
          : { type: 1, intVal: 0, strVal: value };
      case 'raw':
        return { raw: Buffer.from(JSON.stringify(value)), Raw: Buffer.from(JSON.stringify(value)) };
      case 'bytes':
        return Buffer.from(value as string, 'base64');
      default:
        return value;
    }
  }
}

const encoders = [new Encoder(false), new Encoder(true)];

// --- Objects from the tables -------------------------------------------------------------------------------

const arbitraries = new Map<Model, fc.Arbitrary<JsonObject>>();

function arbitraryObject(model: Model): fc.Arbitrary<JsonObject> {
  let arbitrary = arbitraries.get(model);
  if (!arbitrary) {
    const fields = [...model.fields.values()].filter((field) => field.pb.length > 0);
    const record = Object.fromEntries(fields.map((field) => [field.name, arbitraryValue(field)]));
    arbitrary = fc.record(record, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
    arbitraries.set(model, arbitrary);
  }
  return arbitrary;
}

const text = fc.oneof(
  fc.constantFrom('', 'a', '__proto__', 'app.kubernetes.io/name', '🛶 é'),
  fc.string({ unit: 'grapheme' }),
);
const int32 = fc.oneof(fc.constant(0), fc.integer());
const seconds = fc.integer({ min: -62_000_000_000, max: 253_402_300_799 });
const timeOf = (each: number) => `${new Date(each * 1000).toISOString().slice(0, 19)}Z`;

function arbitraryValue(field: Field): fc.Arbitrary<unknown> {
  switch (field.type) {
    case 'model':
      return arbitraryObject(field.model);
    case 'array':
      return fc.array(arbitraryValue(field.items!), { maxLength: 2 });
    case 'map':
      return fc.dictionary(text, arbitraryValue(field.values!), { maxKeys: 3 });
    case 'string':
      return text;
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return field.definition.format === 'int32'
        ? int32
        : fc.oneof(int32, fc.maxSafeInteger(), fc.constantFrom(Number.MAX_SAFE_INTEGER, -1));
    case 'time':
      return fc.oneof(fc.constant(null), seconds.map(timeOf));
    case 'microtime':
      return fc
        .tuple(seconds, fc.nat(999_999))
        .map(([each, micros]) => timeOf(each).replace('Z', `.${String(micros).padStart(6, '0')}Z`));
    case 'quantity':
      return fc.constantFrom('0', '1', '500m', '1Gi', '-2', '1e3');
    case 'int-or-string':
      return fc.oneof(int32, text);
    case 'raw':
      // There and back, because JSON has no -0.
      return fc
        .dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
        .map((value) => JSON.parse(JSON.stringify(value)));
    case 'bytes':
      return fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    default:
      throw new Error(`no arbitrary for ${field.type}`);
  }
}

/** Every field set, to something that is not dropped. */
function fullValue(field: Field): unknown {
  if (field.type === 'model') return fullObject(field.model);
  if (field.type === 'array') return [fullValue(field.items!)];
  if (field.type === 'map') return { a: fullValue(field.values!), b: fullValue(field.values!) };
  const values = {
    string: field.name || 'item',
    boolean: true,
    integer: -7,
    time: '2026-11-15T00:06:29Z',
    microtime: '2026-11-15T00:06:29.000123Z',
    quantity: '100m',
    'int-or-string': 'http',
    raw: { 'f:metadata': { 'f:labels': {} } },
    bytes: 'AAH/',
    number: undefined,
  };
  return values[field.type];
}

function fullObject(model: Model): JsonObject {
  const fields = [...model.fields.values()].filter((field) => field.pb.length > 0);
  return Object.fromEntries(fields.map((field) => [field.name, fullValue(field)]));
}

/** What is left of an object after the dropping rules. */
function dropped(model: Model, value: JsonObject): JsonObject {
  const entries = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const field = model.fields.get(name)!;
    if (each === null) return [];
    if (field.type === 'model') return [[name, dropped(field.model, each as JsonObject)]];
    if (field.type === 'array' || field.type === 'map') {
      if (Object.keys(each as object).length === 0) return [];
      if (field.items?.type !== 'model') return [[name, each]];
      return [[name, (each as JsonObject[]).map((item) => dropped(field.items!.model, item))]];
    }
    if (!field.ptr && (each === '' || each === 0 || each === false)) return [];
    return [[name, each]];
  });
  return Object.fromEntries(entries);
}

// --- Tests ---------------------------------------------------------------------------------------------------

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
        const expected = dropped(model, value);
        const decoded = decodeProtobuf(encoder.body(model, value, 'g/v1'), (apiVersion, name) => {
          expect([apiVersion, name]).toEqual(['g/v1', kind]);
          return model;
        });
        expect(decoded.value).toEqual(expected);
      }),
      { numRuns: 25 },
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
    ['an integer beyond 2^53', podBody('0a09 38 8180808080808010'), 'proto: 9007199254740993 is beyond'],
    ['the smallest int64', podBody('0a0b 38 80808080808080808001'), 'proto: -9223372036854775808 is beyond'],
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
      // Up to a thousand places in each, spread evenly, with every bit in turn.
      const step = Math.ceil(body.length / 1000);
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
      { numRuns: 2000 },
    );
  });
});
