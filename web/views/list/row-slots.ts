/**
 * Which row is drawn by which element. A row keeps its element, with focus and selection of text, for as long as it is in
 * sight; one that comes into sight takes over that of one that has left, because changing texts costs a fraction of making
 * and laying out new elements.
 */
export class RowSlots {
  #taken = new Map<string, number>();
  #count = 0;

  /** A number for each of these rows, the same as before where they were there before. */
  assign(uids: readonly string[]): readonly number[] {
    const stay = new Map<string, number>();
    for (const uid of uids) {
      const slot = this.#taken.get(uid);
      if (slot !== undefined) stay.set(uid, slot);
    }
    const used = new Set(stay.values());
    const free = [...this.#taken.values()].filter((slot) => !used.has(slot));
    for (const uid of uids) if (!stay.has(uid)) stay.set(uid, free.shift() ?? this.#count++);
    this.#taken = stay;
    if (stay.size === 0) this.#count = 0;
    return uids.map((uid) => stay.get(uid)!);
  }
}
