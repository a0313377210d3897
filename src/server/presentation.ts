/**
 * Presentation: objects, lists and watch events in the form a client asked for. Plain JSON goes out as the bytes
 * that are stored; everything else is made from them.
 */
import { badRequest, wrongTransform } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import { columnDefinitions, type IncludeObject, partialObject, type Row, tableRow } from '../api/table.ts';
import type { Entry } from '../registry/entry.ts';
import type { ListResult } from '../registry/list.ts';
import { answerBytes, answerDocument, answerValue } from './answer.ts';
import type { RequestContext } from './context.ts';
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

export async function answerEntry(
  context: RequestContext,
  code: number,
  entry: Entry,
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate();
  if (negotiated.format === 'json' && !negotiated.transform && !context.pretty(negotiated))
    return answerDocument(context, code, entry.document);
  await answerValue(context, code, shapedEntry(context, negotiated, entry, nowMs), negotiated);
}

function shapedEntry(context: RequestContext, negotiated: Negotiated, entry: Entry, nowMs: number): unknown {
  const object = entry.object();
  switch (negotiated.transform) {
    case undefined:
      return object;
    case 'PartialObjectMetadata':
      return partialObject(object, negotiated.transformVersion);
    case 'PartialObjectMetadataList':
      throw wrongTransform(
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${groupName(entry.kind)}.${entry.kind.kind})`,
      );
    case 'Table':
      return table(
        entry.kind,
        negotiated.transformVersion,
        { resourceVersion: object.metadata.resourceVersion },
        [tableRow(entry.kind, object, includeObject(context), negotiated.transformVersion, nowMs)],
      );
  }
}

const groupName = (kind: Kind): string => kind.group || 'core';

const table = (kind: Kind, version: string, metadata: object, rows: Row[]) => ({
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
  if (negotiated.format === 'json' && !negotiated.transform && !context.pretty(negotiated))
    return answerBytes(context, 200, listParts(kind, metadata, list.entries));
  await answerValue(
    context,
    200,
    shapedList(context, negotiated, kind, metadata, list.entries, nowMs),
    negotiated,
  );
}

function shapedList(
  context: RequestContext,
  negotiated: Negotiated,
  kind: Kind,
  metadata: object,
  entries: readonly Entry[],
  nowMs: number,
): unknown {
  const version = negotiated.transformVersion;
  switch (negotiated.transform) {
    case undefined:
      return JSON.parse(Buffer.concat(listParts(kind, metadata, entries)).toString('utf8'));
    case 'PartialObjectMetadataList':
      return {
        kind: 'PartialObjectMetadataList',
        apiVersion: version,
        metadata,
        items: entries.map((entry) => partialObject(entry.object(), version)),
      };
    case 'PartialObjectMetadata':
      throw wrongTransform(
        `you requested PartialObjectMetadata, but the requested object is a list (*${groupName(kind)}.${kind.kind}List)`,
      );
    case 'Table': {
      const include = includeObject(context);
      return table(
        kind,
        version,
        metadata,
        entries.map((entry) => tableRow(kind, entry.object(), include, version, nowMs)),
      );
    }
  }
}

/** The text of a list: the stored documents, copied one after the other. */
function listParts(kind: Kind, metadata: object, entries: readonly Entry[]): Buffer[] {
  const head = Buffer.from(
    `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
  );
  const parts: Buffer[] = [];
  let from = 0;
  do {
    // As many entries as make up one part: each is `{`, its text without kind and apiVersion, and a comma.
    let to = from;
    let size = from === 0 ? head.length : 0;
    for (; to < entries.length && size < partBytes; to++)
      size += entries[to]!.length - entries[to]!.itemStart + 2;
    const last = to >= entries.length;
    const part = Buffer.allocUnsafe(size + (last ? 3 : 0));
    let at = from === 0 ? head.copy(part) : 0;
    for (let i = from; i < to; i++) {
      const entry = entries[i]!;
      part[at++] = 0x7b; // {
      at += entry.document.copy(part, at, entry.itemStart, entry.length);
      if (i < entries.length - 1) part[at++] = 0x2c; // ,
    }
    if (last) at += part.write(']}\n', at, 'latin1');
    parts.push(part.subarray(0, at));
    from = to;
  } while (from < entries.length);
  return parts;
}
