/**
 * Where `metadata.managedFields` stands in the text of an object. It is the last field of the metadata. Reading it is
 * left out of parsing (`entry.ts`), so it is found by searches in the bytes.
 */

export interface Span {
  /** The place of the comma before the name of the field. */
  readonly start: number;
  /** The place where the list of entries begins. */
  readonly listStart: number;
  readonly end: number;
}

const mark = Buffer.from(',"managedFields":[');
/** The end of the list and of the metadata, and the beginning of the next field. */
const endMark = Buffer.from('}]},"');
const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace, openBracket, closeBracket] = Buffer.from('{}[]');

/** `from` is a place in the metadata, and in no string; undefined: the object has no managed fields. */
export function managedSpan(text: Buffer, length: number, from: number): Span | undefined {
  const start = text.indexOf(mark, from);
  if (start < 0 || !isSameDepth(text, from, start)) return undefined;
  const listStart = start + mark.length - 1;
  let end = text.indexOf(endMark, listStart);
  // In a string, the quote of this mark is the one that closes it, and no letter follows.
  while (end >= 0 && !isLetter(text[end + endMark.length]!)) end = text.indexOf(endMark, end + 1);
  // Without a field behind it, the metadata ends with the object.
  return { start, listStart, end: end < 0 ? length - 2 : end + 2 };
}

const isLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

/** Whether a place is in the same object as one before it. Raw values and templates may have a field of that name, too. */
function isSameDepth(text: Buffer, from: number, to: number): boolean {
  let depth = 0;
  for (let at = from; at < to && depth >= 0; at++) {
    const byte = text[at];
    if (byte === quote) at = stringEnd(text, at);
    else if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return depth === 0;
}

/** The place of the quote that closes a string. */
function stringEnd(text: Buffer, open: number): number {
  let at = open + 1;
  while (text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}
