/**
 * Lists of metadata as text (PartialObjectMetadataList), copied from the stored text: nothing is parsed. The metadata of
 * 100,000 pods went from 1.7 to 0.15 s, and from 2.0 to 0.6 s the first time, when the places are searched.
 */
import type { Kind } from '../../api/kind/kind.ts';
import { jsonText } from '../../api/text/json-text.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { copyBytes } from '../../shared-bytes.ts';

/** Items are joined to parts of about this size. */
const partBytes = 256 * 1024;

const itemEnd = Buffer.from('},');
const lastEnd = Buffer.from('}');
const listEnd = Buffer.from(']}\n');

/** The whole list in parts; each is built when the previous one has been sent. */
export function* metadataParts(
  kind: Kind,
  version: string,
  metadata: object,
  entries: readonly Entry[],
): Generator<Buffer, void, undefined> {
  const head = { kind: 'PartialObjectMetadataList', apiVersion: version, metadata };
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`);
  const itemStart = Buffer.from(
    `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(version)},"metadata":`,
  );
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (const [i, entry] of entries.entries()) {
    const text = textOf(kind, entry);
    pieces.push(itemStart, text, i < entries.length - 1 ? itemEnd : lastEnd);
    bytes += itemStart.length + text.length + itemEnd.length;
    if (bytes < partBytes) continue;
    yield joined(pieces, bytes);
    pieces = [];
    bytes = 0;
  }
  yield joined([...pieces, listEnd], bytes + listEnd.length);
}

/** @param bytesMax at least as many as the pieces have together */
function joined(pieces: readonly Buffer[], bytesMax: number): Buffer {
  const all = Buffer.allocUnsafe(bytesMax);
  let at = 0;
  for (const piece of pieces) at = copyBytes(piece, all, at);
  return all.subarray(0, at);
}

/** The metadata of an object; that of another version is made anew. */
const textOf = (kind: Kind, entry: Entry): Buffer =>
  (kind === entry.kind ? entry.metadataText : undefined) ?? Buffer.from(jsonText(entry.shown(kind).metadata));
