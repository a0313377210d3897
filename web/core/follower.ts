/**
 * Follows a collection: lists it page by page, then watches it. What can happen then, and what is done:
 *
 *   the watch ends        goes on from the newest version seen
 *   410 Gone              lists again; what is shown stays until the new list is complete
 *   connection lost       waits for the server, then lists again: it may have another history after a restart
 *   429, 5xx              tries the same again, with growing pauses or when the server says
 *   any other refusal     is handed to the sink, and ends it
 */
import { ApiError, ask, type Query, UnreachableError } from './api.ts';
import { Backoff } from './backoff.ts';
import { connectionLost } from './connection.ts';
import { momentQuery } from './moment.ts';
import type { ListAnswer, TableAnswer } from './objects.ts';
import { type WatchEvent, watchOnce } from './watch.ts';

/** The first page is small, so that something is shown at once. */
const firstPage = 250;
const furtherPages = 2_500;

export type Page = ListAnswer<unknown> | TableAnswer;

/** Receives what is listed and watched. */
export interface Sink {
  /** Called when a list begins; objects that are not in it are gone. */
  begin(): void;
  /** Returns false when no more can be kept; the list then ends early and is watched all the same. */
  page(page: Page): boolean;
  /** Called when the list is complete. */
  end(): void;
  events(events: readonly WatchEvent[]): void;
  /** Called with the final error: nothing more will come. */
  refused(error: Error): void;
}

export interface Followed {
  readonly path: string;
  readonly accept: string;
  readonly query?: Query;
  /** A past version, which is listed and not watched. */
  readonly at: number | undefined;
  readonly signal: AbortSignal;
}

export async function follow(followed: Followed, sink: Sink): Promise<void> {
  const backoff = new Backoff();
  try {
    await followWith(backoff, followed, sink);
  } finally {
    backoff.reset();
  }
}

async function followWith(backoff: Backoff, followed: Followed, sink: Sink): Promise<void> {
  const { signal } = followed;
  let version: string | undefined;
  const seen = (newest: string): void => {
    version = newest;
  };
  while (!signal.aborted) {
    try {
      version ??= await list(followed, sink);
      if (followed.at !== undefined) return;
      await watch(followed, version, sink, { seen, onOpen: () => backoff.reset() });
    } catch (error) {
      if (signal.aborted) return;
      if (Backoff.helps(error)) {
        await backoff.wait(error);
        continue;
      }
      // The position of the former watch is no longer valid.
      version = undefined;
      if (error instanceof UnreachableError) await connectionLost();
      else if (error instanceof ApiError && error.code === 410 && followed.at === undefined) continue;
      else return sink.refused(error as Error);
    }
  }
}

/** Returns the version of the list. The next page is asked for before the sink takes one, so that both go on together. */
async function list({ path, accept, query, at, signal }: Followed, sink: Sink): Promise<string> {
  sink.begin();
  const read = (start: Query, limit: number): Promise<Page> =>
    ask<Page>(path, { accept, query: { ...query, ...start, limit }, signal });
  let reading = read(momentQuery(at), firstPage);
  for (;;) {
    const page = await reading;
    const next = page.metadata.continue;
    if (next) reading = read({ continue: next }, furtherPages);
    if (sink.page(page) && next) continue;
    // The page is not needed: ignore its error.
    reading.catch(() => undefined);
    sink.end();
    return page.metadata.resourceVersion;
  }
}

interface Progress {
  /** The newest version, at which the next watch begins. */
  readonly seen: (version: string) => void;
  readonly onOpen: () => void;
}

async function watch(
  { path, accept, query, signal }: Followed,
  from: string,
  sink: Sink,
  { seen, onOpen }: Progress,
): Promise<void> {
  const onEvents = (events: readonly WatchEvent[]): void => {
    const newest = versionOf(events.at(-1)!);
    if (newest) seen(newest);
    const changes = events.filter(({ type }) => type !== 'BOOKMARK');
    if (changes.length) sink.events(changes);
  };
  await watchOnce(path, { query: { ...query, resourceVersion: from }, accept, signal, onOpen, onEvents });
}

/** The version of an object, or of the object in a table's last row. */
function versionOf({ object }: WatchEvent): string | undefined {
  const rows = object.rows as { object?: { metadata?: { resourceVersion?: string } } }[] | undefined;
  return rows?.at(-1)?.object?.metadata?.resourceVersion ?? object.metadata?.resourceVersion;
}
