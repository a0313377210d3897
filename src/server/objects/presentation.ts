/**
 * Presentation: objects, lists and watch events in the negotiated form. Plain JSON is sent as the stored bytes; all
 * other forms are made from them.
 */
import { badRequest, success, wrongTransform } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/object.ts';
import { columnDefinitions, type IncludeObject, partialObject, type Row, tableRow } from '../../api/table.ts';
import { converted } from '../../registry/conversion.ts';
import type { Entry } from '../../registry/entry.ts';
import type { ListResult } from '../../registry/list.ts';
import type { Page } from '../../registry/page.ts';
import { answerBytes, answerDocument, answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { answerLong, answerParts, type LongValue } from '../http/longanswer.ts';
import type { Negotiated } from '../http/negotiation.ts';

/** A list text up to this size is built as a whole, which is faster. */
const wholeBytesMax = 4 * 1024 * 1024;
/** Longer ones are sent in buffers of about this size. */
const partBytes = 1024 * 1024;

export function includeObject(context: RequestContext): IncludeObject {
  const value = context.query.get('includeObject');
  if (!value) return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/**
 * The parts of a kind that are needed to present an object; also implemented by Scale, which is not a stored kind.
 */
export type Shown = Pick<Kind, 'kind' | 'group' | 'apiVersion' | 'columns' | 'cells' | 'rowConditions'> &
  Partial<Pick<Kind, 'listKind' | 'custom'>>;

export function answerEntry(
  context: RequestContext,
  code: number,
  kind: Kind,
  entry: Entry,
  nowMs: number,
): void | Promise<void> {
  const reading = converted(kind, [entry]);
  if (reading) return reading.then(() => answerEntry(context, code, kind, entry, nowMs));
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

/** Answers with one object in the negotiated form. */
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

/** Answers with a success Status when there is no object to return. */
export const answerSuccess = (context: RequestContext, code: number): Promise<void> =>
  answerValue(context, code, success(code), { ...context.negotiate(), transform: undefined });

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
  const { page } = list;
  const reading = converted(kind, page.entries);
  if (reading) await reading;
  const metadata = {
    ...(negotiated.transform ? {} : { selfLink: context.info.path }),
    resourceVersion: String(list.revision),
    ...(list.continue || (kind.custom && !negotiated.transform) ? { continue: list.continue ?? '' } : {}),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  if (
    kind === kind.storage &&
    negotiated.format === 'json' &&
    !negotiated.transform &&
    !context.pretty(negotiated)
  ) {
    const head = listHead(kind, metadata);
    return page.textBytes <= wholeBytesMax
      ? answerBytes(context, 200, [head, page.text(), listEnd])
      : answerParts(context, 200, listParts(head, page), head.length + page.textBytes + listEnd.length);
  }
  const { entries } = page;
  const object = (index: number): ApiObject => entries[index]!.object(kind);
  const long = longList(context, negotiated, kind, metadata, entries.length, object, nowMs);
  await answerLong(context, 200, long, negotiated);
}

/** Answers with a list in the negotiated form. */
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

/** A list with lazily parsed items: the parsed objects of a large list would not fit into memory. */
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
        head: { kind: kind.listKind ?? `${kind.kind}List`, apiVersion: kind.apiVersion, metadata },
        field: 'items',
        size,
        // Items of a list have no kind and apiVersion, except those of custom kinds.
        item: (index) => {
          if (kind.custom) return object(index);
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
    `{"kind":"${kind.listKind}","apiVersion":"${kind.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`,
  );

const listEnd = Buffer.from(']}\n');

function* listParts(head: Buffer, page: Page): Generator<Buffer, void, undefined> {
  yield head;
  yield* page.textParts(partBytes);
  yield listEnd;
}
