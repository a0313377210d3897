/** JSON that others have sent, as it is read everywhere: at once when it is short, in turns with other work when it is long. */
import { countKeys, type Duplicate, findDuplicates, readJson } from '../api/text/json.ts';
import { type KeyBound, readLongJson } from '../api/text/long-json.ts';
import { givenInSlices, isLong } from '../time-slices.ts';

export interface SentJson {
  readonly value: unknown;
  /** Keys that are repeated in one object. */
  readonly duplicates: readonly Duplicate[];
}

/**
 * Throws, or rejects with, a JsonError.
 * @param bound of an object in a long text, of which only so much will be looked at
 */
export function readSentJson(bytes: Buffer, bound?: KeyBound): SentJson | Promise<SentJson> {
  if (isLong(bytes.length)) return givenInSlices(readLongJson(bytes, bound));
  const { value, keyCount, text } = readJson(bytes);
  return { value, duplicates: countKeys(value) === keyCount ? [] : findDuplicates(text) };
}
