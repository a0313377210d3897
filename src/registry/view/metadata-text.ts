/** Finds the metadata of an object in its JSON text, without parsing it. */

import { stringEnd } from '../../api/text/json-bytes.ts';
import type { Span } from './managed-span.ts';

/** What stands before the metadata. */
export const metadataMark = Buffer.from('"metadata":');
const quote = 0x22;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * A view of the metadata in a text; undefined when it is not where it should begin.
 * @param at position behind kind and apiVersion: metadata is the next field of all objects
 * @param managed position of its managed fields, the last of them: the metadata ends behind these
 */
export function metadataText(text: Buffer, at: number, managed?: Span): Buffer | undefined {
  const start = at + metadataMark.length;
  if (text[start] !== openBrace || !text.subarray(at, start).equals(metadataMark)) return undefined;
  if (managed && text[managed.end] === closeBrace) return text.subarray(start, managed.end + 1);
  let depth = 0;
  for (let i = start; ; i++) {
    const byte = text[i];
    if (byte === quote) i = stringEnd(text, i) - 1;
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) return text.subarray(start, i + 1);
    if (i < 0 || byte === undefined) return undefined;
  }
}
