/**
 * A store that counts from 0, over a store on etcd, which has other revisions before, and takes some when a server
 * comes and goes. The tests of the contract then name revisions as they do for every engine.
 */
import {
  type Change,
  CompactedError,
  FutureRevisionError,
  type RangePage,
  type RangeQuery,
  type Store,
  type Stored,
  type Subscription,
  type Write,
  type WriteResult,
} from '../store.ts';

export class Numbering {
  /** From `raw` on, the number is `raw - shift`, up to the next segment. */
  readonly #segments: { raw: number; shift: number }[] = [];

  /** Revisions between what was seen last and `raw` are not counted. */
  begin(raw: number): void {
    const seen = this.#segments.length ? this.#last : 0;
    this.#segments.push({ raw, shift: raw - seen });
  }

  #last = 0;

  shown(raw: number): number {
    const segment = this.#segments.findLast((each) => each.raw <= raw) ?? this.#segments[0]!;
    const next = this.#segments[this.#segments.indexOf(segment) + 1];
    const shown = Math.max(0, raw - segment.shift);
    const number = next ? Math.min(shown, next.raw - next.shift) : shown;
    if (!next) this.#last = Math.max(this.#last, number);
    return number;
  }

  raw(shown: number): number {
    const segment = this.#segments.findLast((each) => each.raw - each.shift < shown) ?? this.#segments[0]!;
    return shown + segment.shift;
  }
}

export class RenumberedStore implements Store {
  readonly valueBytesMax: number;

  constructor(
    private readonly store: Store,
    private readonly numbering: Numbering,
  ) {
    this.valueBytesMax = store.valueBytesMax;
  }

  async revision(): Promise<number> {
    return this.numbering.shown(await this.store.revision());
  }

  get compacted(): number {
    return this.numbering.shown(this.store.compacted);
  }

  async get(key: string): Promise<Stored | undefined> {
    return this.#shown(await this.store.get(key));
  }

  async range({ revision, ...query }: RangeQuery): Promise<RangePage> {
    const page = await this.store
      .range(revision === undefined ? query : { ...query, revision: this.numbering.raw(revision) })
      .catch((error) => this.#fail(error));
    const items = page.items.map((item) => this.#shown(item)!);
    return { ...page, items, revision: this.numbering.shown(page.revision) };
  }

  async write(write: Write): Promise<WriteResult> {
    const expected = write.expected === 0 ? 0 : this.numbering.raw(write.expected);
    const result = await this.store.write({ ...write, expected });
    return result.ok
      ? { ok: true, revision: this.numbering.shown(result.revision) }
      : { ok: false, current: this.#shown(result.current) };
  }

  watch(after: number, listener: (changes: readonly Change[]) => void): Subscription {
    const shown = (change: Change): Change => ({
      ...change,
      revision: this.numbering.shown(change.revision),
    });
    const subscription = this.store.watch(this.numbering.raw(after), (changes) =>
      listener(changes.map(shown)),
    );
    const ended = subscription.ended.catch((error) => this.#fail(error));
    ended.catch(() => undefined);
    return { ended, close: () => subscription.close() };
  }

  compact(revision: number): Promise<void> {
    return this.store.compact(this.numbering.raw(revision)).catch((error) => this.#fail(error));
  }

  stats() {
    return this.store.stats();
  }

  /** Its revisions are etcd's. */
  backup(): AsyncIterable<Buffer> {
    return this.store.backup();
  }

  close(): Promise<void> {
    return this.store.close();
  }

  #shown(stored: Stored | undefined): Stored | undefined {
    return stored && { ...stored, revision: this.numbering.shown(stored.revision) };
  }

  #fail(error: unknown): never {
    const shown = (raw: number): number => this.numbering.shown(raw);
    if (error instanceof CompactedError)
      throw new CompactedError(shown(error.wanted), shown(error.compacted));
    if (error instanceof FutureRevisionError)
      throw new FutureRevisionError(shown(error.wanted), shown(error.current));
    throw error;
  }
}
