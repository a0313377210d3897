/**
 * Tells keys that are not there from those that may be, without reading: most that are created never were before. Looking
 * for each on disk also made LMDB renew its reading transaction after every commit; without that, creates at 16
 * connections went from 0.343 to 0.351 of the bare server. It takes 8 to 16 bytes for each key.
 *
 * It holds a hash of each key, in a table that is searched from the hash's own place to the next free one. Two keys with
 * the same hash are held twice, so that one of them can go. A key that is there is never denied.
 */
import { optimized } from '../switches.ts';

/** What an engine asks before it looks for a key. */
export interface KnownKeys {
  mayHold(key: string): boolean;
  add(key: string): void;
  delete(key: string): void;
}

export const knownKeys = (): KnownKeys => (optimized ? new KeyFilter() : anyKey);

/** Remembers nothing, so any key may be there. */
const anyKey: KnownKeys = { mayHold: () => true, add: () => undefined, delete: () => undefined };

const FREE = 0;
const SLOTS_MIN = 1024;

export class KeyFilter implements KnownKeys {
  /** At most half of it is taken; a power of two. */
  #slots = new Uint32Array(SLOTS_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  mayHold(key: string): boolean {
    return this.#slots[this.#find(hashOf(key))] !== FREE;
  }

  add(key: string): void {
    if (++this.#size > this.#slots.length / 2) this.#grow();
    this.#insert(hashOf(key));
  }

  /** Takes a key out that was added. */
  delete(key: string): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = this.#find(hashOf(key));
    if (slots[gap] === FREE) return;
    this.#size--;
    // What was put behind it, because its own place was taken, must still be found from there.
    for (let at = (gap + 1) & mask; slots[at] !== FREE; at = (at + 1) & mask) {
      const distance = (at - slots[at]!) & mask;
      if (distance < ((at - gap) & mask)) continue;
      slots[gap] = slots[at]!;
      gap = at;
    }
    slots[gap] = FREE;
  }

  /** Where a hash is, or the free place that says it is not there. */
  #find(hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hash & mask;
    while (slots[at] !== hash && slots[at] !== FREE) at = (at + 1) & mask;
    return at;
  }

  #insert(hash: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hash & mask;
    while (slots[at] !== FREE) at = (at + 1) & mask;
    slots[at] = hash;
  }

  #grow(): void {
    const hashes = this.#slots;
    this.#slots = new Uint32Array(hashes.length * 2);
    for (const hash of hashes) if (hash !== FREE) this.#insert(hash);
  }
}

/** FNV-1a over the units of the text, mixed once more: keys differ in their last letters. Never 0. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash >>> 0;
}
