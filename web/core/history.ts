/**
 * The history that the server keeps: which versions there are, and what changed since the oldest of them. Any version in
 * between can be listed (`resourceVersionMatch=Exact`), and watched from.
 */
import { ApiError, ask, json, type Query, UnreachableError } from './api.ts';
import { Backoff } from './backoff.ts';
import { connectionLost, pause } from './connection.ts';
import { kindOf, pathOf } from './kinds.ts';
import type { ApiObject, ListAnswer } from './objects.ts';
import { type WatchOptions, watchOnce } from './watch.ts';

export interface HistoryRange {
  readonly oldest: number;
  readonly newest: number;
}

/** Objects of the oldest state that are read per path. */
const stateMax = 2_000;
const againMs = 1_000;

/**
 * Asks for a watch from the first version: if that is gone, the refusal names the oldest version there is. The kind does
 * not matter, since versions count for all of them; namespaces are few.
 */
export function findRange(): Promise<HistoryRange> {
  asked ??= askRange().finally(() => {
    asked = undefined;
  });
  return asked;
}

/** The question under way, which all share. */
let asked: Promise<HistoryRange> | undefined;

async function askRange(): Promise<HistoryRange> {
  const path = pathOf(kindOf('namespaces')!);
  const [list, oldest] = await Promise.all([
    ask<ListAnswer<unknown>>(path, { query: { limit: 1 } }),
    findOldest(path),
  ]);
  const newest = Number(list.metadata.resourceVersion);
  return { oldest: Math.min(oldest, newest), newest };
}

/** A version that is kept is watched: an event, or the end of the watch after a second, says so. */
async function findOldest(path: string): Promise<number> {
  const stop = new AbortController();
  try {
    await watchOnce(path, {
      query: { resourceVersion: 1, timeoutSeconds: 1 },
      accept: json,
      signal: stop.signal,
      onEvents: () => stop.abort(),
    });
    return 1;
  } catch (error) {
    const [, oldest] = (error instanceof ApiError && /\((\d+)\)\s*$/.exec(error.message)) || [];
    if (oldest) return Number(oldest);
    if (stop.signal.aborted) return 1;
    throw error;
  }
}

export interface Change {
  /** `STATE`: it was there at the oldest version. */
  readonly type: 'STATE' | 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: ApiObject;
}

export interface HistoryReader {
  /** Everything begins anew, from a newer version: what was read is not kept by the server any more. */
  readonly reset: () => void;
  readonly changes: (changes: readonly Change[]) => void;
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
  while (!signal.aborted) {
    try {
      const { oldest } = await findRange();
      const start = { resourceVersion: oldest, resourceVersionMatch: 'Exact', limit: stateMax };
      const { items } = await ask<ListAnswer<ApiObject>>(path, {
        query: { ...query, ...start },
        accept: listAccept,
        signal,
      });
      reader.reset();
      reader.changes(items.map((object) => ({ type: 'STATE', version: versionOf(object), object })));
      await followFrom(path, { query, accept, signal, onOpen: () => backoff.reset() }, oldest, reader);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnreachableError) await connectionLost();
      else if (Backoff.helps(error)) await backoff.wait(error);
      else if (error instanceof ApiError && error.code !== 410) return reader.refused(error);
      else await pause(againMs);
    }
  }
}

async function followFrom(
  path: string,
  options: Omit<WatchOptions, 'query' | 'onEvents'> & { readonly query?: Query },
  oldest: number,
  reader: HistoryReader,
): Promise<void> {
  for (let from = oldest; ; ) {
    await watchOnce(path, {
      ...options,
      query: { ...options.query, resourceVersion: from },
      onEvents: (events) => {
        from = Math.max(from, versionOf(events.at(-1)!.object));
        const changes = events
          .filter(({ type }) => type !== 'BOOKMARK')
          .map(({ type, object }) => ({ type: type as Change['type'], version: versionOf(object), object }));
        if (changes.length) reader.changes(changes);
      },
    });
  }
}

const versionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion);
