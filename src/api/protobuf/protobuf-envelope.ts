/**
 * What goes around protobuf messages: the envelope of an answer, the items of a list, the frames of a watch.
 *
 * A document is the bytes `k8s\0` and a message Unknown {1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding,
 * 4 contentType}, whose `raw` is the message of the object. A list has the messages of its items as they are in their
 * documents, and a watch the whole documents; so an object is encoded once.
 */
import type { Model } from '../model/model.ts';
import type { JsonObject } from '../text/object.ts';
import { encodeMessage, encodeWithin } from './protobuf-message.ts';

/** The object as it is answered, and where its message is in there. */
export interface ProtobufDocument {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Tags of fields 1 and 2 with a length. */
const firstTag = 0x0a;
const secondTag = 0x12;
/** contentEncoding and contentType, which are empty. */
export const envelopeEnd = Buffer.from([0x1a, 0, 0x22, 0]);
/** Bytes of the length before each event of a watch. */
export const frameBytes = 4;

/** Version and kind of the object in a document. */
export interface TypeMeta {
  readonly kind: string;
  readonly apiVersion: string;
}

export function encodeDocument(type: TypeMeta, model: Model, object: JsonObject): ProtobufDocument {
  let start = 0;
  const head = (length: number): Buffer => {
    const made = envelopeHead(type, length);
    start = made.length;
    return made;
  };
  const bytes = encodeWithin(model, object, head, envelopeEnd);
  return { bytes, start, end: bytes.length - envelopeEnd.length };
}

/** Everything before a message of this length. */
export function envelopeHead({ apiVersion, kind }: TypeMeta, length: number): Buffer {
  const type = `${apiVersion} ${kind}`;
  if (type !== lastType) {
    const typeMeta = Buffer.concat([field(firstTag, apiVersion), field(secondTag, kind)]);
    lastStart = Buffer.concat([Buffer.from('k8s\0'), field(firstTag, typeMeta)]);
    lastType = type;
  }
  return Buffer.concat([lastStart, lead(secondTag, length)]);
}

/** The beginning of the last envelope, and its type: that of most that follow. */
let lastType = '';
let lastStart = Buffer.alloc(0);

const field = (tag: number, value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([lead(tag, bytes.length), bytes]);
};

/** Tag and length. */
function lead(tag: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(1 + varintBytes(length));
  writeLead(bytes, 0, tag, length);
  return bytes;
}

function writeLead(target: Buffer, at: number, tag: number, length: number): number {
  let end = at;
  target[end++] = tag;
  for (let rest = length; ; rest = Math.floor(rest / 0x80)) {
    if (rest < 0x80) {
      target[end++] = rest;
      return end;
    }
    target[end++] = (rest % 0x80) + 0x80;
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

// Lists: {1 metadata, 2 items}

/** Bytes of an object as an item. */
export const itemBytes = ({ start, end }: ProtobufDocument): number =>
  1 + varintBytes(end - start) + end - start;

/** Writes an object as an item; returns where it ends. */
export function writeItem(target: Buffer, at: number, { bytes, start, end }: ProtobufDocument): number {
  const from = writeLead(target, at, secondTag, end - start);
  return from + bytes.copy(target, from, start, end);
}

/** The bytes before and after the items of a list, given the size of all items. */
export function listEnvelope(
  type: TypeMeta,
  metadata: { readonly model: Model; readonly value: JsonObject },
  itemsBytes: number,
): { head: Buffer; end: Buffer } {
  const about = field(firstTag, encodeMessage(metadata.model, metadata.value));
  return {
    head: Buffer.concat([envelopeHead(type, about.length + itemsBytes), about]),
    end: envelopeEnd,
  };
}

// Watches: {1 type, 2 object {1 raw}}, where raw is a document, behind the length of the event in four bytes

const typeFields = new Map<string, Buffer>();

export function eventFrame(type: string, { bytes: document }: Pick<ProtobufDocument, 'bytes'>): Buffer {
  let typeField = typeFields.get(type);
  if (!typeField) {
    typeField = field(firstTag, type);
    typeFields.set(type, typeField);
  }
  const rawBytes = 1 + varintBytes(document.length) + document.length;
  const length = typeField.length + 1 + varintBytes(rawBytes) + rawBytes;
  const frame = Buffer.allocUnsafe(frameBytes + length);
  frame.writeUInt32BE(length);
  typeField.copy(frame, frameBytes);
  const inner = writeLead(frame, frameBytes + typeField.length, secondTag, rawBytes);
  document.copy(frame, writeLead(frame, inner, firstTag, document.length));
  return frame;
}
