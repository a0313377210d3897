/**
 * The log of changes over the kept history: one short record per change of the usual and of custom kinds, for the
 * slider and its steps. It is read while the time machine is open.
 */
import { signal } from '@preact/signals';
import { json } from '../api.ts';
import { type Kind, kinds, pathOf } from '../kinds.ts';
import type { ApiObject } from '../objects.ts';
import { maySee } from '../rights.ts';
import { place } from '../router.ts';
import { usualKinds } from '../usual-kinds.ts';
import { writerOf } from '../writer.ts';
import { findRange, readHistory } from './history.ts';
import type { HistoryRange } from './history-range.ts';

export interface LogRecord {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  /** When it was written, in milliseconds; NaN when nothing says so. */
  readonly timeMs: number;
  readonly writer: string | undefined;
}

/** Maximum number of records; the oldest are dropped. */
const recordsMax = 20_000;
/** Maximum number of kinds that are read: each is a watch. */
const kindsMax = 40;
const refreshMs = 3_000;

const metadataAs = `${json};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`;
const metadataListAs = `${json};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`;

export class HistoryLog {
  readonly range = signal<HistoryRange | undefined>(undefined);
  /** Records sorted by version. */
  readonly records = signal<readonly LogRecord[]>([]);
  /** Kinds whose kept history was not read completely yet. */
  readonly unread = signal<ReadonlySet<Kind>>(new Set());
  readonly #stop = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #waiting: LogRecord[] = [];

  constructor() {
    const { signal } = this.#stop;
    this.#timer = setInterval(() => void this.#refresh(), refreshMs);
    void this.#refresh();
    const namespace = place.value.query.get('ns') ?? undefined;
    for (const kind of loggedKinds()) {
      // Changes in all namespaces belong to the log, where the user may see them.
      if (maySee(kind.id)) this.#read(kind, pathOf(kind), signal);
      else if (maySee(kind.id, namespace)) this.#read(kind, pathOf(kind, namespace), signal);
    }
  }

  close(): void {
    this.#stop.abort();
    clearInterval(this.#timer);
  }

  /** The time of a version: that of the last record up to it. */
  timeOf(version: number): number | undefined {
    const records = this.records.value;
    let at = lastUpTo(records, version);
    while (at >= 0 && Number.isNaN(records[at]!.timeMs)) at--;
    return at >= 0 ? records[at]!.timeMs : undefined;
  }

  /** The version of the next change after another, or of the one before it. */
  step(version: number, direction: 1 | -1): number | undefined {
    const records = this.records.value;
    if (direction === 1) return records[lastUpTo(records, version) + 1]?.version;
    return records[lastUpTo(records, version - 1)]?.version;
  }

  async #refresh(): Promise<void> {
    if (document.visibilityState !== 'visible') return;
    const range = await findRange().catch(() => undefined);
    const before = this.range.value;
    if (!range || (range.oldest === before?.oldest && range.newest === before.newest)) return;
    this.range.value = range;
    // Steps only go to versions that can be shown.
    const records = this.records.value;
    if (records.length > 0 && records[0]!.version < range.oldest)
      this.records.value = records.slice(lastUpTo(records, range.oldest - 1) + 1);
  }

  #read(kind: Kind, path: string, signal: AbortSignal): void {
    const seen = new Map<string, ApiObject>();
    this.unread.value = new Set([...this.unread.value, kind]);
    const isRead = (): void => {
      this.unread.value = new Set([...this.unread.value].filter((one) => one !== kind));
    };
    void readHistory(
      path,
      { accept: metadataAs, listAccept: metadataListAs, signal },
      {
        reset: () => {
          seen.clear();
          this.records.value = this.records.value.filter((record) => record.kind !== kind);
        },
        changes: (changes) => {
          for (const { type, version, object } of changes) {
            const { uid, namespace, name } = object.metadata;
            const writer = writerOf(object, seen.get(uid));
            if (type === 'DELETED') seen.delete(uid);
            else seen.set(uid, object);
            if (type === 'STATE') continue;
            const timeMs = Date.parse(
              (type === 'DELETED' ? object.metadata.deletionTimestamp : writer?.time) ?? '',
            );
            this.#waiting.push({ version, type, kind, namespace, name, timeMs, writer: writer?.name });
          }
          this.#schedule();
        },
        caughtUp: isRead,
        refused: isRead,
      },
    );
  }

  /** Sorts in new records together, because many arrive at once in the beginning. */
  #schedule(): void {
    if (this.#waiting.length === 0) return;
    setTimeout(() => {
      if (this.#waiting.length === 0 || this.#stop.signal.aborted) return;
      const all = [...this.records.value, ...this.#waiting].sort((a, b) => a.version - b.version);
      this.#waiting = [];
      this.records.value = all.slice(-recordsMax);
    }, 100);
  }
}

function loggedKinds(): Kind[] {
  const isOwn = ({ group }: Kind): boolean => group.includes('.') && !group.endsWith('.k8s.io');
  return (kinds.value ?? [])
    .filter(
      (kind) => kind.verbs.has('watch') && kind.id !== 'events' && (usualKinds.has(kind.id) || isOwn(kind)),
    )
    .slice(0, kindsMax);
}

/** The index of the last record whose version is not above another, or -1. */
function lastUpTo(records: readonly LogRecord[], version: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle]!.version <= version) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
