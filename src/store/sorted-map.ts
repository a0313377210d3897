/**
 * A map from text to values that can be walked in key order, for hundreds of thousands of keys.
 *
 * Entries are in sorted chunks of at most CHUNK_ENTRIES_MAX, with a hash map beside them. So a lookup or a
 * replacement costs one hash, a new key costs two binary searches and a short memory move, and a walk reads arrays
 * sequentially. One big array would move half its keys on each insert; a tree would follow a pointer per key.
 *
 * Keys sort by their UTF-8 bytes, as they do on disk.
 */

/** A full chunk is split. Larger chunks make walks faster and inserts slower. */
const CHUNK_ENTRIES_MAX = 512;

/** A surrogate. No `u` flag: it must match single units. */
const SURROGATE = /[\ud800-\udfff]/;

export interface SortedEntry<V> {
  readonly key: string;
  value: V;
}

type Compare = (a: string, b: string) => number;

/**
 * Orders keys by their UTF-8 bytes: negative when a comes first, 0 when they are equal.
 *
 * JavaScript compares UTF-16 units. That is the same order, except that surrogates (0xD800–0xDFFF) come before the
 * characters U+E000–U+FFFF, while the characters they encode come after.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b ? -1 : 1;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i);
    const unitB = b.charCodeAt(i);
    if (unitA !== unitB) return rank(unitA) - rank(unitB);
  }
  return a.length - b.length;
}

/** Moves surrogates behind all other units. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Correct as long as neither key has a surrogate. */
const comparePlain: Compare = (a, b) => (a < b ? -1 : a === b ? 0 : 1);

export class SortedMap<V> {
  readonly #entries = new Map<string, SortedEntry<V>>();
  #chunks: SortedEntry<V>[][] = [];
  /** Whether a key needs `compareKeys`; until then all searches compare units. */
  #hasSurrogates = false;

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: V): void {
    const known = this.#entries.get(key);
    if (known) {
      known.value = value;
      return;
    }
    const entry = { key, value };
    this.#entries.set(key, entry);
    if (!this.#hasSurrogates && SURROGATE.test(key)) this.#hasSurrogates = true;
    if (this.#chunks.length === 0) {
      this.#chunks.push([entry]);
      return;
    }
    const compare = this.#comparison(key);
    // Fast path: keys often arrive in order, as when a store is loaded.
    const last = this.#chunks.length - 1;
    const isNewest = compare(this.#chunks[last]!.at(-1)!.key, key) < 0;
    const at = isNewest ? last : this.#chunkFor(key, compare);
    const chunk = this.#chunks[at]!;
    if (isNewest) chunk.push(entry);
    else chunk.splice(lowerBound(chunk, key, compare), 0, entry);
    if (chunk.length > CHUNK_ENTRIES_MAX) this.#split(at, chunk);
  }

  delete(key: string): boolean {
    if (!this.#entries.delete(key)) return false;
    const compare = this.#comparison(key);
    const at = this.#chunkFor(key, compare);
    const chunk = this.#chunks[at]!;
    if (chunk.length === 1) this.#chunks.splice(at, 1);
    else chunk.splice(lowerBound(chunk, key, compare), 1);
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#chunks = [];
    this.#hasSurrogates = false;
  }

  /** Entries in key order from `start` (inclusive). Do not add or delete keys during the walk; setting is fine. */
  *from(start = ''): Generator<SortedEntry<V>, void, undefined> {
    if (this.#chunks.length === 0) return;
    const compare = this.#comparison(start);
    let at = this.#chunkFor(start, compare);
    let i = lowerBound(this.#chunks[at]!, start, compare);
    for (; at < this.#chunks.length; at++, i = 0) {
      const chunk = this.#chunks[at]!;
      for (; i < chunk.length; i++) yield chunk[i]!;
    }
  }

  /**
   * Visits values in key order from `start` (inclusive) until the visitor returns false. Several times faster than
   * `from`, under the same condition.
   */
  walk(start: string, visit: (value: V) => boolean): void {
    if (this.#chunks.length === 0) return;
    const compare = this.#comparison(start);
    let at = this.#chunkFor(start, compare);
    let i = lowerBound(this.#chunks[at]!, start, compare);
    for (; at < this.#chunks.length; at++, i = 0) {
      const chunk = this.#chunks[at]!;
      for (; i < chunk.length; i++) if (!visit(chunk[i]!.value)) return;
    }
  }

  /** How many keys there are from `start` (inclusive). */
  count(start: string): number {
    if (this.#chunks.length === 0) return 0;
    const compare = this.#comparison(start);
    const at = this.#chunkFor(start, compare);
    let count = this.size - lowerBound(this.#chunks[at]!, start, compare);
    for (let i = 0; i < at; i++) count -= this.#chunks[i]!.length;
    return count;
  }

  #comparison(key: string): Compare {
    return this.#hasSurrogates || SURROGATE.test(key) ? compareKeys : comparePlain;
  }

  /** The last chunk that begins at or before the key; the first one when all begin after it. */
  #chunkFor(key: string, compare: Compare): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (compare(this.#chunks[middle]![0]!.key, key) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #split(at: number, chunk: SortedEntry<V>[]): void {
    // Keys often arrive in order; leaving the front chunk nearly full then keeps chunks full.
    const cut = at === this.#chunks.length - 1 ? (chunk.length * 7) >>> 3 : chunk.length >>> 1;
    this.#chunks.splice(at + 1, 0, chunk.splice(cut));
  }
}

/** Where the key is in the chunk, or where it belongs. */
function lowerBound<V>(chunk: SortedEntry<V>[], key: string, compare: Compare): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(chunk[middle]!.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
