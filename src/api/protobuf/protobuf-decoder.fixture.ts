/**
 * Decoding with protobufjs, to check what the server encodes with an implementation that is not its own. Its message types
 * are those of `protobuf-encoder.fixture.ts`.
 */
import protobuf from 'protobufjs';
import type { Field, Model } from '../model/model.ts';
import { parseExact } from '../text/exact-json.ts';
import type { JsonObject } from '../text/object.ts';
import { encoders } from './protobuf-encoder.fixture.ts';

const [types] = encoders as [(typeof encoders)[number]];

/** The JSON value of a message of a model. */
export function decodedMessage(model: Model, message: Uint8Array): JsonObject {
  const decoded = types.typeOf(model).decode(message);
  return objectOf(model, decoded as unknown as JsonObject);
}

export interface DecodedDocument {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

/** What is in the envelope of an answer. */
export function decodedEnvelope(document: Buffer): DecodedDocument {
  if (document.toString('latin1', 0, 4) !== 'k8s\0') throw new Error('the answer does not begin with k8s\\0');
  const unknown = types.root.lookupType('Unknown').decode(document.subarray(4)) as unknown as {
    typeMeta: { apiVersion: string; kind: string };
    raw: Uint8Array;
    contentEncoding: string;
    contentType: string;
  };
  if (unknown.contentEncoding || unknown.contentType) throw new Error('the answer is encoded twice');
  return { ...unknown.typeMeta, raw: unknown.raw };
}

/** A whole answer as the JSON value it stands for. */
export function decodedDocument(document: Buffer, model: Model): JsonObject {
  const { kind, apiVersion, raw } = decodedEnvelope(document);
  return { kind, apiVersion, ...decodedMessage(model, raw) };
}

const watchEvent = new protobuf.Type('WatchEvent')
  .add(new protobuf.Field('type', 1, 'string'))
  .add(new protobuf.Field('object', 2, 'RawExtension'));
types.root.add(watchEvent);

/** An event of a watch, without the length before it; its object is a document. */
export function decodedEvent(bytes: Uint8Array): { type: string; object: Buffer } {
  const { type, object } = watchEvent.decode(bytes) as unknown as {
    type: string;
    object: { raw: Uint8Array };
  };
  return { type, object: Buffer.from(object.raw) };
}

function objectOf(model: Model, message: JsonObject): JsonObject {
  const value: JsonObject = {};
  for (const field of model.fields.values()) {
    if (field.pb.length === 0) continue;
    let from: JsonObject | null | undefined = message;
    for (const number of field.pb.slice(0, -1)) from = from?.[`embedded${number}`] as JsonObject | null;
    // protobufjs has defaults on the prototype, and empty lists and maps in every message.
    if (!from || !Object.hasOwn(from, field.name) || isUnset(field, from[field.name])) continue;
    value[field.name] = jsonValue(field, from[field.name]);
  }
  return value;
}

const isUnset = ({ type }: Field, value: unknown): boolean =>
  (type === 'array' || type === 'map') && Object.keys(value as object).length === 0;

/** Beyond 2^53 a bigint, as when it is read from JSON. */
function whole(value: unknown): number | bigint {
  const number = Number(String(value));
  return Number.isSafeInteger(number) ? number : BigInt(String(value));
}

function jsonValue(field: Field, value: unknown): unknown {
  switch (field.type) {
    case 'model':
      return objectOf(field.model, value as JsonObject);
    case 'array': {
      const items = Array.isArray(value) ? value : (value as { items: unknown[] }).items;
      return items.map((item) => jsonValue(field.items!, item));
    }
    case 'map':
      return Object.fromEntries(
        Object.entries(value as JsonObject).map(([key, item]) => [key, jsonValue(field.values!, item)]),
      );
    case 'integer':
      return whole(value);
    case 'time':
    case 'microtime':
      return timeText(value as JsonObject, field.type === 'microtime');
    case 'quantity':
      return (value as { string: string }).string;
    case 'int-or-string': {
      const { type, intVal, strVal } = value as JsonObject;
      return whole(type) === 1 ? strVal : intVal;
    }
    case 'raw': {
      const { raw, Raw } = value as { raw?: Uint8Array; Raw?: Uint8Array };
      return parseExact(Buffer.from((raw?.length ? raw : Raw)!).toString('utf8'));
    }
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('base64');
    default:
      return value;
  }
}

function timeText(message: JsonObject, micro: boolean): string | null {
  if (!Object.hasOwn(message, 'seconds')) return null;
  const text = new Date(Number(String(message['seconds'])) * 1000).toISOString().slice(0, 19);
  const nanos = Number(message['nanos'] ?? 0);
  return micro ? `${text}.${String(nanos / 1000).padStart(6, '0')}Z` : `${text}Z`;
}
