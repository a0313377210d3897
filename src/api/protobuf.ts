/**
 * Request bodies in protobuf (`application/vnd.kubernetes.protobuf`), decoded to the JSON value that the same
 * object would have had as JSON. client-go sends them for every typed write.
 *
 * The field numbers stand in the field tables. From a model's fields a decode table is made on first use: an
 * array from field number to what is there. Senders write every field that is not a pointer, also when it is
 * empty, so empty texts, zeros and falses are dropped unless the field tells unset from zero (`ptr`).
 */
import { isUtf8 } from 'node:buffer';
import { JsonError, readJson } from './json.ts';
import type { Field, Model } from './model.ts';
import { type JsonObject, setKey } from './object.ts';
import { formatTime } from './time.ts';

/** Nested messages. */
const messageDepthMax = 100;
/** Bytes of a varint: ten hold 64 bits. */
const varintBytesMax = 10;
/** What formatTime can write with four digits of year: years 1 to 9999, in seconds. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_799;
const nanosMax = 999_999_999;

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtobufError';
  }
}

export interface ProtobufObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's own fields; its kind and apiVersion are in the envelope only. */
  readonly value: JsonObject;
}

/** Decodes a body: the envelope names the kind, `modelFor` finds its shape. */
export function decodeProtobuf(
  bytes: Buffer,
  modelFor: (apiVersion: string, kind: string) => Model | undefined,
): ProtobufObject {
  if (bytes.length < MAGIC.length || MAGIC.compare(bytes, 0, MAGIC.length) !== 0) {
    throw new ProtobufError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  const reader = new Reader(bytes);
  const { apiVersion, kind, start, end } = readEnvelope(reader);
  const model = modelFor(apiVersion, kind);
  if (!model)
    throw new ProtobufError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  reader.at = start;
  const value: JsonObject = {};
  readMessage(reader, end, tableOf(model), value, 0);
  return { apiVersion, kind, value };
}

interface Envelope {
  apiVersion: string;
  kind: string;
  start: number;
  end: number;
}

/** The message Unknown: 1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding, 4 contentType. */
function readEnvelope(reader: Reader): Envelope {
  const envelope: Envelope = { apiVersion: '', kind: '', start: 0, end: 0 };
  reader.at = MAGIC.length;
  reader.end = reader.bytes.length;
  while (reader.at < reader.end) {
    const tag = reader.tag('Unknown');
    const number = tag >>> 3;
    if (number < 1 || number > 4) {
      reader.skip(tag & 7, 'Unknown');
      continue;
    }
    if ((tag & 7) !== BYTES)
      throw wrongWire(tag, 'Unknown', ['', 'typeMeta', 'raw', 'contentEncoding', 'contentType'][number]!);
    const end = reader.length();
    if (number === 1) readTypeMeta(reader, end, envelope);
    else if (number === 2) {
      envelope.start = reader.at;
      envelope.end = end;
    } else if (end > reader.at) {
      const name = number === 3 ? 'contentEncoding' : 'contentType';
      throw new ProtobufError(`the ${name} of a protobuf body must be empty`);
    }
    reader.at = end;
  }
  return envelope;
}

function readTypeMeta(reader: Reader, end: number, envelope: Envelope): void {
  const outer = reader.end;
  reader.end = end;
  while (reader.at < end) {
    const tag = reader.tag('TypeMeta');
    if (tag === ((1 << 3) | BYTES)) envelope.apiVersion = reader.text();
    else if (tag === ((2 << 3) | BYTES)) envelope.kind = reader.text();
    else reader.skip(tag & 7, 'TypeMeta');
  }
  reader.end = outer;
}

// Wire types.
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** The bytes of one body and a place in them. `end` is the end of the innermost message being read. */
class Reader {
  at = 0;
  end = 0;
  /** Upper half of the last varint; the lower half is what `varint` returns. */
  high = 0;

  constructor(readonly bytes: Buffer) {}

  /** Reads up to 64 bits: the lower 32 are returned, the upper 32 are in `high`; both unsigned. */
  varint(): number {
    const { bytes } = this;
    let low = 0;
    let high = 0;
    for (let count = 0; count < varintBytesMax; count += 1) {
      if (this.at >= this.end) throw new ProtobufError('unexpected EOF');
      const byte = bytes[this.at]!;
      this.at += 1;
      const bits = byte & 0x7f;
      if (count < 4) low |= bits << (7 * count);
      else if (count === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * count - 32);
      if (byte < 0x80) {
        if (count === varintBytesMax - 1 && byte > 1) break;
        this.high = high >>> 0;
        return low >>> 0;
      }
    }
    throw new ProtobufError('proto: integer overflow');
  }

  /** Field number and wire type. */
  tag(message: string): number {
    const tag = this.varint();
    if (this.high !== 0 || tag < 8)
      throw new ProtobufError(`proto: ${message}: illegal tag ${tag >>> 3} (wire type ${tag & 7})`);
    return tag;
  }

  /** Where a value with a length in front ends; stands at its first byte afterwards. */
  length(): number {
    const length = this.varint();
    if (this.high !== 0 || length > this.end - this.at) throw new ProtobufError('unexpected EOF');
    return this.at + length;
  }

  text(): string {
    const end = this.length();
    const start = this.at;
    this.at = end;
    if (start === end) return '';
    const text = this.bytes.utf8Slice(start, end);
    // What is not UTF-8 reads as U+FFFD; only then is it worth a closer look.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end))) {
      throw new ProtobufError('proto: string field contains invalid UTF-8');
    }
    return text;
  }

  /** Passes over a field nobody knows. Groups, which protobuf gave up long ago, are refused. */
  skip(wire: number, message: string): void {
    if (wire === VARINT) this.varint();
    else if (wire === BYTES) this.at = this.length();
    else if (wire === FIXED64 || wire === FIXED32) {
      this.at += wire === FIXED64 ? 8 : 4;
      if (this.at > this.end) throw new ProtobufError('unexpected EOF');
    } else if (wire === START_GROUP || wire === END_GROUP) {
      throw new ProtobufError(`proto: ${message}: groups are not supported`);
    } else throw new ProtobufError(`proto: ${message}: illegal wireType ${wire}`);
  }
}

function wrongWire(tag: number, message: string, field: string): ProtobufError {
  return new ProtobufError(`proto: ${message}: wrong wireType = ${tag & 7} for field ${field}`);
}

/** Reads one value that is not a message of a model. `wire` is the wire type it is written in. */
interface Scalar {
  readonly wire: number;
  /** Undefined is an empty value that stands for nothing at all, such as a Time without seconds. */
  read(reader: Reader, entry: Entry): unknown;
  /** What a map entry holds when its value was left out. */
  readonly zero: unknown;
}

type Shape = 'scalar' | 'list' | 'map' | 'message' | 'messages' | 'embedded';

/** One field number of a message. */
interface Entry {
  readonly shape: Shape;
  readonly name: string;
  readonly ptr: boolean;
  readonly message: string;
  /** How the value, the list's items or the map's values are read. */
  readonly scalar: Scalar;
  /** Fields of a message; looked up late, because models may refer to themselves. */
  readonly table: () => Table;
}

/** A message: its fields by their numbers. */
interface Table {
  readonly name: string;
  readonly entries: readonly (Entry | undefined)[];
}

function readMessage(reader: Reader, end: number, table: Table, out: JsonObject, depth: number): void {
  if (depth > messageDepthMax) throw new ProtobufError('proto: exceeded max depth');
  const outer = reader.end;
  reader.end = end;
  while (reader.at < end) {
    const tag = reader.tag(table.name);
    const entry = table.entries[tag >>> 3];
    if (entry) readField(reader, tag, entry, out, depth);
    else reader.skip(tag & 7, table.name);
  }
  reader.end = outer;
}

function readField(reader: Reader, tag: number, entry: Entry, out: JsonObject, depth: number): void {
  const { name, scalar } = entry;
  const wire = tag & 7;
  const packed = entry.shape === 'list' && wire === BYTES && scalar.wire === VARINT;
  if (wire !== scalar.wire && !packed) throw wrongWire(tag, entry.message, name);
  switch (entry.shape) {
    case 'scalar': {
      // A field may come twice; then the last one counts, also when it is empty.
      const value = scalar.read(reader, entry);
      if (value === undefined || (!entry.ptr && (value === '' || value === 0 || value === false)))
        delete out[name];
      else out[name] = value;
      return;
    }
    case 'message': {
      const inner = (out[name] ??= {}) as JsonObject;
      readMessage(reader, reader.length(), entry.table(), inner, depth + 1);
      return;
    }
    case 'messages': {
      const inner: JsonObject = {};
      ((out[name] ??= []) as unknown[]).push(inner);
      readMessage(reader, reader.length(), entry.table(), inner, depth + 1);
      return;
    }
    case 'embedded':
      readMessage(reader, reader.length(), entry.table(), out, depth + 1);
      return;
    case 'list': {
      const list = (out[name] ??= []) as unknown[];
      if (!packed) list.push(scalar.read(reader, entry) ?? scalar.zero);
      else readPacked(reader, entry, list);
      return;
    }
    case 'map':
      readMapEntry(reader, entry, (out[name] ??= {}) as JsonObject);
  }
}

function readPacked(reader: Reader, entry: Entry, list: unknown[]): void {
  const outer = reader.end;
  const end = reader.length();
  reader.end = end;
  while (reader.at < end) list.push(entry.scalar.read(reader, entry));
  reader.end = outer;
}

/** A map is a list of messages {1 key, 2 value}. */
function readMapEntry(reader: Reader, entry: Entry, map: JsonObject): void {
  const outer = reader.end;
  const end = reader.length();
  reader.end = end;
  let key = '';
  let value: unknown;
  while (reader.at < end) {
    const tag = reader.tag(entry.message);
    if (tag === ((1 << 3) | BYTES)) key = reader.text();
    else if (tag === ((2 << 3) | mapValueWire(entry))) value = entry.scalar.read(reader, entry);
    else if (tag >>> 3 <= 2) throw wrongWire(tag, entry.message, entry.name);
    else reader.skip(tag & 7, entry.message);
  }
  reader.end = outer;
  setKey(map, key, value ?? entry.scalar.zero);
}
