/**
 * Composed keys: one text for several, for maps, caches and queues. Different parts never give the same key, whatever
 * they hold: joined by a character that may stand in a name, `"a\nb"` alone and `"a"` with `"b"` would be one key, and a
 * user whose name says so would get what is remembered of another.
 */

/** Stands between parts. In a part, it and the mark are written as the mark and a letter. */
const separator = '\0';
const mark = '\u0001';
const special = /[\0\u0001]/;
const specials = /[\0\u0001]/g;

/** A text that only these parts in this order have. */
export const composedKey = (...parts: readonly string[]): string => composedOf(parts);

/** The same for a list of any length: too many arguments make a call fail. */
export function composedOf(parts: readonly string[]): string {
  for (const part of parts) if (special.test(part)) return parts.map(escaped).join(separator);
  return parts.join(separator);
}

const escaped = (part: string): string =>
  part.replace(specials, (character) => `${mark}${character === mark ? 'm' : 's'}`);
