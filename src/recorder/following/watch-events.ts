/**
 * The events of a watch, as they arrive: lines of JSON, or frames of protobuf, which is asked for where metadata alone is
 * wanted. What has arrived together is handed over together.
 */
import type { IncomingMessage } from 'node:http';
import { type Status, StatusError } from '../../api/errors/errors.ts';
import { modelOf } from '../../api/model/model.ts';
import { decodeProtobuf } from '../../api/protobuf/protobuf.ts';
import { BYTES, Reader } from '../../api/protobuf/protobuf-reader.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import type { JsonObject } from '../../api/text/object.ts';

/** Bytes of one event. API servers bound their objects; this is for other servers. */
const eventBytesMax = 64 * 1024 * 1024;
/** The length before each frame. */
const lengthBytes = 4;
const lineFeed = 0x0a;

const jsonType = 'application/json';
const protobufType = 'application/vnd.kubernetes.protobuf';
const partial = (type: string, kind: string): string => `${type};as=${kind};g=meta.k8s.io;v=v1`;

/** What a client accepts: whole objects, or metadata alone, in protobuf where the server has that. */
export const acceptedList = (metadataOnly: boolean): string =>
  metadataOnly ? partial(jsonType, 'PartialObjectMetadataList') : jsonType;
export const acceptedWatch = (metadataOnly: boolean): string =>
  metadataOnly
    ? `${partial(protobufType, 'PartialObjectMetadata')},${partial(jsonType, 'PartialObjectMetadata')}`
    : jsonType;

export interface SourceEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: JsonObject;
  readonly bytes: number;
}

/** Hands over events until the server ends the watch. Throws a StatusError for an event that says so. */
export async function* watchEvents(answer: IncomingMessage): AsyncGenerator<readonly SourceEvent[], void> {
  const isBinary = String(answer.headers['content-type']).startsWith(protobufType);
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    rest.push(chunk);
    restBytes += chunk.length;
    if (restBytes > eventBytesMax) throw new Error('a watch event without an end');
    // Most of a long event is collected without looking at it again.
    if (!isBinary && !chunk.includes(lineFeed)) continue;
    const bytes = rest.length === 1 ? chunk : Buffer.concat(rest);
    const { events, end } = isBinary ? framesIn(bytes) : linesIn(bytes);
    rest = end < bytes.length ? [bytes.subarray(end)] : [];
    restBytes = bytes.length - end;
    if (events.length > 0) yield events;
  }
}

interface Read {
  readonly events: readonly SourceEvent[];
  /** Where the first event begins that has not come to its end. */
  readonly end: number;
}

function linesIn(bytes: Buffer): Read {
  const events: SourceEvent[] = [];
  let start = 0;
  for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
    if (end > start) {
      const { type, object } = parseExact(bytes.toString('utf8', start, end)) as SourceEvent;
      events.push(checked(type, object, end - start));
    }
    start = end + 1;
  }
  return { events, end: start };
}

function framesIn(bytes: Buffer): Read {
  const events: SourceEvent[] = [];
  let start = 0;
  while (bytes.length - start >= lengthBytes) {
    const end = start + lengthBytes + bytes.readUInt32BE(start);
    if (end > bytes.length) break;
    const { type, document } = frameOf(bytes.subarray(start + lengthBytes, end));
    const { value } = decodeProtobuf(document, (_version, kind) =>
      modelOf(kind === 'Status' ? 'Status' : 'PartialObjectMetadata'),
    );
    events.push(checked(type, value, end - start));
    start = end;
  }
  return { events, end: start };
}

/** An event is {1 type, 2 object {1 raw}}. */
function frameOf(bytes: Buffer): { type: string; document: Buffer } {
  const fields = fieldsOf(bytes);
  const raw = fieldsOf(fields.get(2) ?? Buffer.alloc(0)).get(1) ?? Buffer.alloc(0);
  return { type: fields.get(1)?.toString('utf8') ?? '', document: raw };
}

function fieldsOf(bytes: Buffer): Map<number, Buffer> {
  const reader = new Reader(bytes, 0);
  const fields = new Map<number, Buffer>();
  while (reader.at < bytes.length) {
    const tag = reader.tag('WatchEvent');
    if ((tag & 7) !== BYTES) {
      reader.skip(tag, 'WatchEvent');
      continue;
    }
    const end = reader.length();
    fields.set(tag >>> 3, bytes.subarray(reader.at, end));
    reader.at = end;
  }
  return fields;
}

function checked(type: string, object: JsonObject, bytes: number): SourceEvent {
  if (type === 'ERROR') {
    const { code, reason, message, details } = object as unknown as Status;
    throw new StatusError(code ?? 500, reason, message ?? '', details);
  }
  return { type: type as SourceEvent['type'], object, bytes };
}
