/**
 * Finds `metadata.managedFields` in the JSON text of an object. It is the last field of the metadata. It is skipped
 * when an object is parsed (`entry.ts`), so it is found by searching the bytes.
 */
import { stringEnd } from '../../api/text/json-bytes.ts';

export interface Span {
  /** Position of the comma before the name of the field. */
  readonly start: number;
  /** Position where the list of entries begins. */
  readonly listStart: number;
  readonly end: number;
}

const mark = Buffer.from(',"managedFields":[');
/** The text that ends the list and the metadata, and begins the next field. */
const endMark = Buffer.from('}]},"');
const quote = 0x22;
const [openBrace, closeBrace, openBracket, closeBracket] = Buffer.from('{}[]');

/**
 * Finds the field; undefined when the object has no managed fields. `from` is a position inside the metadata and
 * outside of any string.
 */
export function managedSpan(text: Buffer, length: number, from: number): Span | undefined {
  const start = text.indexOf(mark, from);
  if (start < 0 || !isSameDepth(text, from, start)) return undefined;
  const listStart = start + mark.length - 1;
  let end = text.indexOf(endMark, listStart);
  // Inside a string, the quote of this mark would be the closing one, and no letter would follow.
  while (end >= 0 && !isLetter(text[end + endMark.length]!)) end = text.indexOf(endMark, end + 1);
  // Without a next field, the metadata ends with the object.
  return { start, listStart, end: end < 0 ? length - 2 : end + 2 };
}

const isLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

/**
 * Whether two positions are in the same object, at the same depth. Raw values and templates may have a field of that
 * name, too.
 */
function isSameDepth(text: Buffer, from: number, to: number): boolean {
  let depth = 0;
  for (let at = from; at < to && depth >= 0; at++) {
    const byte = text[at];
    if (byte === quote) {
      at = stringEnd(text, at) - 1;
      if (at < 0) return false;
    } else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return depth === 0;
}
