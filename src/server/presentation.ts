/**
 * Presentation: objects, lists and watch events in the form a client asked for. Plain JSON goes out as the bytes
 * that are stored; everything else is made from them.
 */
import { badRequest, wrongTransform } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import { columnDefinitions, type IncludeObject, partialObject, type Row, tableRow } from '../api/table.ts';
import type { Entry } from '../registry/entry.ts';
import type { ListResult } from '../registry/list.ts';
import { answerDocument, answerValue } from './answer.ts';
import type { RequestContext } from './context.ts';
import { answerLong, answerParts, type LongValue } from './longanswer.ts';
import type { Negotiated } from './negotiation.ts';

/** Lists go out in buffers of about this size. */
const partBytes = 1024 * 1024;

export function includeObject(context: RequestContext): IncludeObject {
  const value = context.query.get('includeObject');
  if (!value) return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** What showing an object needs to know of its kind; a Scale, say, is shown but is no stored kind. */
export type Shown = Pick<Kind, 'kind' | 'group' | 'apiVersion' | 'columns' | 'cells' | 'rowConditions'>;

export function answerEntry(
  context: RequestContext,
  code: number,
  kind: Kind,
  entry: Entry,
  nowMs: number,
): void | Promise<void> {
  const negotiated = context.negotiate();
  if (
    kind === entry.kind &&
    negotiated.format === 'json' &&
    !negotiated.transform &&
    !context.pretty(negotiated)
  )
    return answerDocument(context, code, entry.document);
  return answerObject(context, code, kind, entry.object(kind), nowMs);
}

/** Answers with one object in the form the client asked for. */
export async function answerObject(
  context: RequestContext,
  code: number,
  kind: Shown,
  object: ApiObject,
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate();
  await answerValue(context, code, shapedObject(context, negotiated, kind, object, nowMs), negotiated);
}

function shapedObject(
  context: RequestContext,
  { transform, transformVersion: version }: Negotiated,
  kind: Shown,
  object: ApiObject,
  nowMs: number,
): unknown {
  switch (transform) {
    case undefined:
      return object;
    case 'PartialObjectMetadata':
      return partialObject(object, version);
    case 'PartialObjectMetadataList':
      throw wrongTransform(
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${groupName(kind)}.${kind.kind})`,
      );
    case 'Table':
      return table(kind, version, { resourceVersion: object.metadata.resourceVersion }, [
        tableRow(kind, object, includeObject(context), version, nowMs),
      ]);
  }
}

const groupName = (kind: Shown): string => kind.group || 'core';

const table = (kind: Shown, version: string, metadata: object, rows: Row[]) => ({
  kind: 'Table',
  apiVersion: version,
  metadata,
  columnDefinitions: columnDefinitions(kind),
  rows,
});

export async function answerList(
  context: RequestContext,
  kind: Kind,
  list: ListResult,
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate();
  const metadata = {
    ...(negotiated.transform ? {} : { selfLink: context.info.path }),
    resourceVersion: String(list.revision),
    ...(list.continue ? { continue: list.continue } : {}),
    ...(list.remaining === undefined ? {} : { remainingItemCount: list.remaining }),
  };
  const { entries } = list;
  if (
    kind === kind.storage &&
    negotiated.format === 'json' &&
    !negotiated.transform &&
    !context.pretty(negotiated)
  ) {
    const head = listHead(kind, metadata);
    return answerParts(context, 200, listParts(head, entries), listLength(head, entries));
  }
  const object = (index: number): ApiObject => entries[index]!.object(kind);
  const long = longList(context, negotiated, kind, metadata, entries.length, object, nowMs);
  await answerLong(context, 200, long, negotiated);
}

/** Answers with a list of objects in the form the client asked for. */
export async function answerObjects(
  context: RequestContext,
  kind: Shown,
  metadata: object,
  objects: readonly ApiObject[],
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate();
  const object = (index: number): ApiObject => objects[index]!;
  const long = longList(context, negotiated, kind, metadata, objects.length, object, nowMs);
  await answerLong(context, 200, long, negotiated);
}

/** A list with its items made one by one: all the objects of a large one would not fit into memory. */
function longList(
  context: RequestContext,
  { transform, transformVersion: version }: Negotiated,
  kind: Shown,
  metadata: object,
  size: number,
  object: (index: number) => ApiObject,
  nowMs: number,
): LongValue {
  switch (transform) {
    case undefined:
      return {
        head: { kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata },
        field: 'items',
        size,
        // Inside a list objects go without kind and apiVersion.
        item: (index) => {
          const { kind: _kind, apiVersion: _apiVersion, ...item } = object(index);
          return item;
        },
      };
    case 'PartialObjectMetadataList':
      return {
        head: { kind: 'PartialObjectMetadataList', apiVersion: version, metadata },
        field: 'items',
        size,
        item: (index) => partialObject(object(index), version),
      };
    case 'PartialObjectMetadata':
      throw wrongTransform(
        `you requested PartialObjectMetadata, but the requested object is a list (*${groupName(kind)}.${kind.kind}List)`,
      );
    case 'Table': {
      const include = includeObject(context);
      const { rows: _, ...head } = table(kind, version, metadata, []);
      return {
        head,
        field: 'rows',
        size,
        item: (index) => tableRow(kind, object(index), include, version, nowMs),
      };
    }
  }
}

const listHead = (kind: Kind, metadata: object): Buffer =>
  Buffer.from(
    `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
  );

const listEnd = ']}\n';

/** Each entry is `{`, its text without kind and apiVersion, and a comma: the same for all of a kind. */
const itemOverhead = (entries: readonly Entry[]): number => 2 - (entries[0]?.itemStart ?? 0);

function listLength(head: Buffer, entries: readonly Entry[]): number {
  const overhead = itemOverhead(entries);
  let length = head.length + listEnd.length;
  for (const entry of entries) length += entry.length + overhead;
  // The last one goes without its comma.
  return entries.length ? length - 1 : length;
}

/** The text of a list: the stored documents, copied one after the other. */
function* listParts(head: Buffer, entries: readonly Entry[]): Generator<Buffer, void, undefined> {
  const overhead = itemOverhead(entries);
  const itemStart = 2 - overhead;
  let from = 0;
  do {
    // As many entries as make up one part.
    let to = from;
    let size = from === 0 ? head.length : 0;
    for (; to < entries.length && size < partBytes; to++) size += entries[to]!.length + overhead;
    const last = to >= entries.length;
    const part = Buffer.allocUnsafe(size + (last ? listEnd.length : 0));
    let at = from === 0 ? head.copy(part) : 0;
    for (let i = from; i < to; i++) {
      const { document, length } = entries[i]!;
      part[at++] = 0x7b; // {
      at += document.copy(part, at, itemStart, length);
      if (i < entries.length - 1) part[at++] = 0x2c; // ,
    }
    if (last) at += part.write(listEnd, at, 'latin1');
    yield part.subarray(0, at);
    from = to;
  } while (from < entries.length);
}
