/**
 * A recording: the store that changes of another cluster are written to, with what is needed to go on. For each resource the
 * newest version of the source is kept, in the same commit as the changes up to it, so that nothing is lost and nothing
 * written twice, whenever the process ends. Gaps are kept beside. Both are under keys that are of no kind.
 */
import { isDeepStrictEqual } from 'node:util';
import { parseExact } from '../../api/text/exact-json.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { HistoryGap } from '../../registry/view/history-gap.ts';
import { endOfKeys, parseStoreKey, storeKey } from '../../registry/view/key.ts';
import { type Assignment, SEPARATOR, type Stored } from '../../store/store.ts';
import type { VersionedStore } from '../../store/versioned.ts';

type Id = Parameters<typeof storeKey>[0];
const positions = 'recorder.wherry.dev/positions' as Id;
const gaps = 'recorder.wherry.dev/gaps' as Id;
const lives = 'recorder.wherry.dev/lives' as Id;
/** Gaps that are kept; the oldest go first. */
const gapsMax = 2_000;
const pageSize = 1_000;

/** How far a resource is recorded. */
export interface Position {
  /** The version of the source. */
  readonly resourceVersion: string;
  /** When that was known to be its newest. */
  readonly seenMs: number;
  /** The identity of the cluster that gave the version; '' where that is not known. */
  readonly cluster: string;
  /** Versions of the source of the changes in the same commit, in their order. */
  readonly changes?: readonly string[];
}

/** A gap of one resource. */
interface Gap {
  readonly resource: string;
  readonly fromMs: number;
  readonly why: string;
  /** Whether what changed meanwhile has to be found by comparing; else every change was fetched afterwards. */
  readonly isLossy: boolean;
  /** Undefined: it lasts. */
  readonly toMs?: number;
  /** Version of this store after which what had changed was written. */
  readonly after?: number;
}

interface KnownGap extends Gap {
  readonly key: string;
  /** Version of this store at which it began, or ended. */
  readonly revision: number;
}

/** When nothing had been missed of these resources: they were watched then. */
interface Life {
  readonly seenMs: number;
  readonly resources: readonly string[];
}

export interface SourceChange extends Assignment {
  /** Version of the source; '' where it is not known. */
  readonly version: string;
}

export class Recording {
  readonly #positions = new Map<string, Position>();
  readonly #gaps = new Map<string, KnownGap>();
  #gapCount = 0;
  #life: Life = { seenMs: 0, resources: [] };

  private constructor(private readonly store: VersionedStore) {}

  static async open(store: VersionedStore): Promise<Recording> {
    const recording = new Recording(store);
    for await (const { key, value } of recording.#all(positions))
      recording.#positions.set(parseStoreKey(key).name, JSON.parse(value.toString('utf8')) as Position);
    for await (const { value } of recording.#all(lives))
      recording.#life = JSON.parse(value.toString('utf8')) as Life;
    for await (const { key, value, revision } of recording.#all(gaps))
      recording.#gaps.set(key, { ...(JSON.parse(value.toString('utf8')) as Gap), key, revision });
    return recording;
  }

  /** Gaps that have begun since the start. */
  get gapCount(): number {
    return this.#gapCount;
  }

  position(resource: string): Position | undefined {
    return this.#positions.get(resource);
  }

  /** When a resource was last known to be seen, be it that nothing changed in it; undefined: it is not recorded. */
  seenMs(resource: string): number | undefined {
    const position = this.#positions.get(resource);
    const { seenMs, resources } = this.#life;
    return position && resources.includes(resource) ? Math.max(seenMs, position.seenMs) : position?.seenMs;
  }

  /** These resources are watched now: nothing of them was missed until then. */
  async live(resources: readonly string[], seenMs: number): Promise<void> {
    this.#life = { seenMs, resources };
    const value = Buffer.from(JSON.stringify(this.#life));
    await this.store.assign([{ key: storeKey(lives, '', 'recorder'), value }]);
  }

  /** The gap that lasts; undefined: nothing is missing. */
  openGap(resource: string): KnownGap | undefined {
    for (const gap of this.#gaps.values())
      if (gap.resource === resource && gap.toMs === undefined) return gap;
    return undefined;
  }

  /** For those who show history. @param sinceMs leaves out those that ended before */
  gaps(sinceMs = 0): HistoryGap[] {
    return [...this.#gaps.values()]
      .filter(({ toMs = Number.POSITIVE_INFINITY }) => toMs >= sinceMs)
      .sort((a, b) => a.fromMs - b.fromMs)
      .map(({ resource, fromMs, toMs, why, after, revision }) => ({
        fromMs,
        toMs,
        why,
        resources: [resource],
        versions: toMs === undefined ? undefined : { first: after! + 1, last: revision },
      }));
  }

  /** Writes changes and how far they reach, in one commit. */
  async take(resource: string, changes: readonly SourceChange[], position: Position): Promise<void> {
    const versions = changes.map(({ version }) => version);
    const kept = { ...position, ...(versions.length ? { changes: versions } : {}) };
    await this.store.assign([
      ...changes.map(({ key, value }) => ({ key, value })),
      { key: storeKey(positions, '', resource), value: Buffer.from(JSON.stringify(kept)) },
    ]);
    this.#positions.set(resource, position);
  }

  /** Writes what was found by comparing. How far that reaches is known when everything was found (`take`). */
  async found(changes: readonly SourceChange[]): Promise<void> {
    if (changes.length) await this.store.assign(changes.map(({ key, value }) => ({ key, value })));
  }

  /** A resource is not followed any more. */
  async forget(resource: string): Promise<void> {
    await this.store.assign([{ key: storeKey(positions, '', resource), value: null }]);
    this.#positions.delete(resource);
  }

  /** Nothing is seen of a resource, since some time. A gap that lasts goes on; it becomes lossy if this one is. */
  async beginGap(resource: string, gap: Pick<Gap, 'fromMs' | 'why' | 'isLossy'>): Promise<void> {
    const open = this.openGap(resource);
    if (open && (open.isLossy || !gap.isLossy)) return;
    if (!open) this.#gapCount++;
    const { fromMs, why, isLossy } = gap;
    const key = open?.key ?? storeKey(gaps, resource, String(fromMs));
    await this.#put(key, { resource, fromMs: open?.fromMs ?? fromMs, why, isLossy });
    const surplus = [...this.#gaps.values()].filter(({ toMs }) => toMs !== undefined);
    const oldest = surplus
      .sort((a, b) => a.fromMs - b.fromMs)
      .slice(0, Math.max(0, this.#gaps.size - gapsMax));
    await this.#drop(oldest.map((one) => one.key));
  }

  /** Everything about a resource is known again. */
  async endGap(resource: string, toMs: number): Promise<void> {
    const open = this.openGap(resource);
    if (!open) return;
    const { key, fromMs, why, isLossy, revision } = open;
    await this.#put(key, { resource, fromMs, why, isLossy, toMs, after: revision });
  }

  /** Drops gaps that ended before history begins. */
  async dropGaps(beforeMs: number): Promise<void> {
    const old = [...this.#gaps.values()].filter(({ toMs }) => toMs !== undefined && toMs < beforeMs);
    await this.#drop(old.map(({ key }) => key));
  }

  /** Every recorded object of a resource. */
  objects(id: string): AsyncGenerator<Stored, void> {
    return this.#all(id as Id);
  }

  /**
   * What a listed object is to the recording: the same but for the order of fields, changed, another one of the same name, or
   * not there.
   */
  async compared(key: string, value: Buffer): Promise<'same' | 'changed' | 'replaced' | 'missing'> {
    const stored = await this.store.get(key);
    if (!stored) return 'missing';
    if (stored.value.equals(value)) return 'same';
    const [before, after] = [stored.value, value].map(
      (bytes) => parseExact(bytes.toString('utf8')) as ApiObject,
    );
    if (before!.metadata.uid !== after!.metadata.uid) return 'replaced';
    return isDeepStrictEqual(before, after) ? 'same' : 'changed';
  }

  async #put(key: string, gap: Gap): Promise<void> {
    const [revision] = await this.store.assign([{ key, value: Buffer.from(JSON.stringify(gap)) }]);
    this.#gaps.set(key, { ...gap, key, revision: revision! });
  }

  async #drop(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    for (const key of keys) this.#gaps.delete(key);
    await this.store.assign(keys.map((key) => ({ key, value: null })));
  }

  async *#all(id: Id): AsyncGenerator<Stored, void> {
    const end = endOfKeys(id);
    for (let start: string | undefined = id + SEPARATOR; start !== undefined; ) {
      const page = await this.store.range({ start, end, limit: pageSize });
      yield* page.items;
      start = page.more ? `${page.items.at(-1)!.key}\u0000` : undefined;
    }
  }
}
