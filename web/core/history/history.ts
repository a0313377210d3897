/**
 * The history that the server keeps: which versions exist, and what changed since the oldest. Any version in between
 * can be listed (`resourceVersionMatch=Exact`), and watched from.
 */
import { ApiError, ask, json, type Query, UnreachableError } from '../api.ts';
import { Backoff } from '../backoff.ts';
import { connectionLost, pause } from '../connection.ts';
import type { ApiObject, ListAnswer } from '../objects.ts';
import { type WatchOptions, watchOnce } from '../watch.ts';
import { type HistoryRange, startOf } from './history-range.ts';

/** Maximum number of objects of the oldest state that are read per path. */
const stateMax = 2_000;
const againMs = 1_000;
const pausesMax = 10;
const shortWatchSeconds = 3;

interface RangeAnswer extends Pick<HistoryRange, 'gaps' | 'copy'> {
  readonly oldest: string;
  readonly newest: string;
  readonly oldestTime?: string;
  readonly now?: string;
}

/** The version that was the newest at a time. Refused with a sentence when that is not kept. */
export const versionAt = async (timeMs: number): Promise<number> => {
  const query = { time: new Date(timeMs).toISOString() };
  return Number((await ask<{ readonly version: string }>('/wherry/history', { query })).version);
};

/** Asks the server for the range; concurrent callers share the answer. */
export function findRange(): Promise<HistoryRange> {
  asked ??= ask<RangeAnswer>('/wherry/history')
    .then(({ oldest, newest, oldestTime, now, gaps, copy }) => ({
      oldest: Number(oldest),
      newest: Number(newest),
      oldestMs: oldestTime === undefined ? undefined : Date.parse(oldestTime),
      nowMs: now === undefined ? undefined : Date.parse(now),
      gaps,
      copy,
    }))
    .finally(() => {
      asked = undefined;
    });
  return asked;
}

/** The question under way. */
let asked: Promise<HistoryRange> | undefined;

export interface Change {
  /** `STATE`: the object existed at the oldest version. */
  readonly type: 'STATE' | 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: ApiObject;
}

export interface HistoryReader {
  /** Called when reading starts again from a newer version, because the server no longer keeps what was read. */
  readonly reset: () => void;
  readonly changes: (changes: readonly Change[]) => void;
  /** Called once after every reset, when everything kept at the start of reading was read. */
  readonly caughtUp?: () => void;
  readonly refused: (error: Error) => void;
}

interface ReadOptions {
  readonly query?: Query;
  /** The form of objects, and that of the list of them. */
  readonly accept?: string;
  readonly listAccept?: string;
  readonly signal: AbortSignal;
}

/** Reads a path from the oldest version on, and follows it until the signal. */
export async function readHistory(
  path: string,
  { query, accept = json, listAccept = accept, signal }: ReadOptions,
  reader: HistoryReader,
): Promise<void> {
  const backoff = new Backoff();
  signal.addEventListener('abort', () => backoff.reset());
  let attempt = 0;
  while (!signal.aborted) {
    try {
      const range = await findRange();
      const from = startOf(range, attempt);
      const start = { resourceVersion: from, resourceVersionMatch: 'Exact', limit: stateMax };
      const { items } = await ask<ListAnswer<ApiObject>>(path, {
        query: { ...query, ...start },
        accept: listAccept,
        signal,
      });
      reader.reset();
      reader.changes(items.map((object) => ({ type: 'STATE', version: versionOf(object), object })));
      const onOpen = (): void => backoff.reset();
      const caughtUp = (): void => {
        attempt = 0;
        reader.caughtUp?.();
      };
      const { newest } = range;
      await followFrom(path, { query, accept, signal, onOpen }, { from, newest }, { ...reader, caughtUp });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnreachableError) await connectionLost();
      else if (Backoff.helps(error)) await backoff.wait(error);
      else if (error instanceof ApiError && error.code !== 410) return reader.refused(error);
      else await pause(againMs * Math.min(attempt++, pausesMax));
    }
  }
}

/**
 * Follows a path from a version on. A watch reports by a bookmark, two seconds before its end, that it has sent
 * everything; so the first watches are short.
 */
async function followFrom(
  path: string,
  options: Omit<WatchOptions, 'query' | 'onEvents'> & { readonly query?: Query },
  { from: begin, newest }: { readonly from: number; readonly newest: number },
  reader: HistoryReader,
): Promise<void> {
  let from = begin;
  let isBehind = true;
  const caughtUp = (): void => {
    if (isBehind) reader.caughtUp?.();
    isBehind = false;
  };
  if (from >= newest) caughtUp();
  for (;;) {
    const timeoutSeconds = isBehind ? shortWatchSeconds : undefined;
    await watchOnce(path, {
      ...options,
      query: { ...options.query, resourceVersion: from, timeoutSeconds },
      onEvents: (events) => {
        from = Math.max(from, versionOf(events.at(-1)!.object));
        const changes = events
          .filter(({ type }) => type !== 'BOOKMARK')
          .map(({ type, object }) => ({ type: type as Change['type'], version: versionOf(object), object }));
        if (changes.length) reader.changes(changes);
        if (changes.length < events.length || from >= newest) caughtUp();
      },
    });
  }
}

const versionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion);
