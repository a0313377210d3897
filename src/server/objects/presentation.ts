/**
 * Presentation: objects and lists in the negotiated form. Plain JSON is sent as the stored bytes; all other forms are made
 * from them. Those that clients ask for often, protobuf and tables, are kept for each object.
 */
import { badRequest, success, wrongTransform } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  columnDefinitions,
  type IncludeObject,
  partialObject,
  type Row,
  tableRow,
} from '../../api/kind/table.ts';
import { modelOf } from '../../api/model/model.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Registry } from '../../registry/registry.ts';
import type { ListResult } from '../../registry/verbs/list.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { converted } from '../../registry/view/entry-conversion.ts';
import { messagesOfKind } from '../../registry/view/entry-messages.ts';
import type { Page } from '../../registry/view/page.ts';
import { answerBytes, answerDocument, answerStatus, answerValue } from '../http/answer.ts';
import { answerItems, isCompressed } from '../http/compressed-items.ts';
import type { RequestContext } from '../http/context.ts';
import { answerLong, answerParts, type LongValue } from '../http/long-answer.ts';
import { messagesOf, type Negotiated, protobufType } from '../http/negotiation.ts';
import { Pace } from '../wire/pace.ts';
import { answerMessages } from './message-list.ts';
import { metadataParts } from './metadata-list.ts';
import { TableText } from './table-text.ts';

/** A list text up to this size is built as a whole, which is faster. */
const wholeBytesMax = 4 * 1024 * 1024;
/** Longer ones are sent in buffers of about this size. */
const partBytes = 1024 * 1024;
/** Tables and metadata of up to this many objects are built as a whole, too. */
const wholeRowsMax = 1_000;
const lineEnd = Buffer.from('\n');

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
export type Shown = Pick<
  Kind,
  'kind' | 'group' | 'apiVersion' | 'model' | 'columns' | 'cells' | 'rowConditions'
> &
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
  const negotiated = context.negotiate(messagesOf(kind));
  const { format, transform, transformVersion: version } = negotiated;
  if (format === 'json' && !context.pretty(negotiated)) {
    if (!transform && kind === entry.kind) return answerDocument(context, code, entry.document);
    if (transform === 'Table') {
      const table = new TableText(kind, version, includeObject(context), nowMs);
      return answerBytes(context, code, [table.one(entry, true), lineEnd]);
    }
  }
  if (format === 'protobuf') {
    checkTransform(kind, transform, false);
    const { bytes } = messagesOfKind(kind, version).of(entry);
    const value = () => shapedObject(context, negotiated, kind, entry.shown(kind), nowMs);
    context.audited?.takeAnswer(bytes.length, value);
    return answerDocument(context, code, bytes, protobufType);
  }
  return answerObject(context, code, kind, entry.shown(kind), nowMs);
}

/** Answers with one object in the negotiated form. */
export async function answerObject(
  context: RequestContext,
  code: number,
  kind: Shown,
  object: ApiObject,
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate(messagesOf(kind));
  const shaped = shapedObject(context, negotiated, kind, object, nowMs);
  const model = negotiated.transform ? modelOf('PartialObjectMetadata') : kind.model;
  await answerValue(context, code, shaped, negotiated, model);
}

/** Answers with a success Status when there is no object to return. */
export const answerSuccess = (context: RequestContext, code: number): Promise<void> =>
  answerStatus(context, code, success(code), context.negotiate('all'));

function shapedObject(
  context: RequestContext,
  { transform, transformVersion: version }: Negotiated,
  kind: Shown,
  object: ApiObject,
  nowMs: number,
): unknown {
  checkTransform(kind, transform, false);
  switch (transform) {
    case undefined:
      return object;
    case 'Table':
      return table(kind, version, { resourceVersion: object.metadata.resourceVersion }, [
        tableRow(kind, object, includeObject(context), version, nowMs),
      ]);
    default:
      return partialObject(object, version);
  }
}

/** Checks that a metadata-only form fits: PartialObjectMetadata for an object, PartialObjectMetadataList for a list. */
function checkTransform(kind: Shown, transform: Negotiated['transform'], isList: boolean): void {
  const type = `*${kind.group || 'core'}.${kind.kind}`;
  if (transform === 'PartialObjectMetadataList' && !isList)
    throw wrongTransform(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${type})`,
    );
  if (transform === 'PartialObjectMetadata' && isList)
    throw wrongTransform(
      `you requested PartialObjectMetadata, but the requested object is a list (${type}List)`,
    );
}

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
  { selfLinks, sources }: Pick<Registry, 'selfLinks' | 'sources'>,
): Promise<void> {
  const nowMs = sources.nowMs();
  const negotiated = context.negotiate(messagesOf(kind));
  const { format, transform, transformVersion: version } = negotiated;
  const { page } = list;
  const reading = converted(kind, page.entries);
  if (reading) await reading;
  const metadata = {
    ...(transform || !selfLinks ? {} : { selfLink: context.info.path }),
    resourceVersion: String(list.revision),
    ...(list.continue || (kind.custom && !negotiated.transform) ? { continue: list.continue ?? '' } : {}),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  const { entries } = page;
  if (format === 'json' && !context.pretty(negotiated)) {
    if (!transform && kind === kind.storage) return answerTexts(context, listHead(kind, metadata), page);
    if (transform === 'Table') {
      const text = new TableText(kind, version, includeObject(context), nowMs);
      return answerMade(context, text.parts(metadata, entries), page);
    }
    if (transform === 'PartialObjectMetadataList')
      return answerMade(context, metadataParts(kind, version, metadata, entries), page);
  }
  const object = (index: number): ApiObject => entries[index]!.shown(kind);
  const long = longList(context, negotiated, kind, metadata, entries.length, object, nowMs);
  if (format === 'protobuf') {
    const type = transform
      ? { kind: transform, apiVersion: version }
      : { kind: `${kind.kind}List`, apiVersion: kind.apiVersion };
    return answerMessages(context, type, metadata, page, messagesOfKind(kind, version), long);
  }
  await answerLong(context, 200, long, negotiated);
}

/** Answers with a list of the stored JSON texts. */
function answerTexts(context: RequestContext, head: Buffer, page: Page): Promise<void> {
  return page.textBytes <= wholeBytesMax
    ? answerItems(context, [head, page.text(isCompressed(context, page.textBytes)), listEnd])
    : answerParts(context, 200, listParts(head, page), head.length + page.textBytes + listEnd.length);
}

/** Answers with text that is made part by part: as a whole if it is short. */
async function answerMade(context: RequestContext, parts: Iterable<Buffer>, page: Page): Promise<void> {
  if (page.entries.length > wholeRowsMax || page.textBytes > wholeBytesMax)
    return answerParts(context, 200, parts);
  const all: Buffer[] = [];
  const pace = new Pace();
  for (const part of parts) {
    all.push(part);
    const pause = pace.pause();
    if (pause) await pause;
  }
  return answerBytes(context, 200, all);
}

/** Answers with a list in the negotiated form. */
export async function answerObjects(
  context: RequestContext,
  kind: Shown,
  metadata: object,
  objects: readonly ApiObject[],
  nowMs: number,
): Promise<void> {
  const negotiated = context.negotiate(messagesOf(kind));
  const object = (index: number): ApiObject => objects[index]!;
  const long = longList(context, negotiated, kind, metadata, objects.length, object, nowMs);
  const model = negotiated.transform ? modelOf('PartialObjectMetadataList') : modelOf(`${kind.kind}List`);
  await answerLong(context, 200, long, negotiated, model);
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
  checkTransform(kind, transform, true);
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
    default:
      return {
        head: { kind: 'PartialObjectMetadataList', apiVersion: version, metadata },
        field: 'items',
        size,
        item: (index) => partialObject(object(index), version),
      };
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
