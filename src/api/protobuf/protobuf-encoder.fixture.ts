/** Encoding with protobufjs, from the protobuf types that the tables of fields name. */
import protobuf from 'protobufjs';
import type { Field, Model } from '../model/model.ts';
import type { JsonObject } from '../text/object.ts';

/** Messages that the tables refer to but do not describe. */
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
  ExtraValue: [['items', 1, 'string', 'repeated']],
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
      const id = field.pb.at(-1);
      if (id === undefined) continue;
      const holder = field.pb.slice(0, -1).reduce((outer, number) => this.#embedded(outer, number), type);
      holder.add(this.#field(field, id));
    }
    return type;
  }

  /** The message that holds the fields with several numbers. */
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
      let target = message;
      for (const number of field.pb.slice(0, -1)) target = (target[`embedded${number}`] ??= {}) as JsonObject;
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

/** With lists of numbers packed, and without. */
export const encoders = [new Encoder(false), new Encoder(true)];
