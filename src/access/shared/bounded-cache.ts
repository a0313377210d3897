/** A cache with a maximum number of entries: when it is full, the oldest entry is dropped. */
export class BoundedCache<Value> {
  readonly #entries = new Map<string, Value>();

  constructor(private readonly entriesMax: number) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    // Deleted first, so that the entry moves to the end.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.entriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
