/**
 * Watches: on the secure door streams of one HTTP/2 connection, on the local door, which speaks HTTP/1.1, all of them on
 * one WebSocket.
 */
import { ApiError, fetchAnswer, type Query, type Status, withQuery } from './api.ts';
import { lost, type WatchEvent, watchBySocket } from './watch-socket.ts';

export type { WatchEvent };

export interface WatchOptions {
  readonly query: Query;
  readonly accept: string;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the watch. */
  readonly onOpen?: () => void;
  /** Called with the events that arrive together. */
  readonly onEvents: (events: readonly WatchEvent[]) => void;
}

/**
 * Runs a watch until the server ends it, which is how every watch ends after a while. Throws UnreachableError when the
 * connection was lost, and ApiError when the server refuses or ends it with an error, such as 410.
 */
export function watchOnce(path: string, options: WatchOptions): Promise<void> {
  const query = { allowWatchBookmarks: true, ...options.query, watch: true };
  return location.protocol === 'https:'
    ? watchByFetch(path, { ...options, query })
    : watchBySocket({ ...options, path: withQuery(path, query) });
}

async function watchByFetch(path: string, options: WatchOptions): Promise<void> {
  const { query, accept, signal, onOpen, onEvents } = options;
  const { body } = await fetchAnswer(path, { query, accept, signal });
  onOpen?.();
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw lost();
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop()!;
    deliver(lines.filter(Boolean), onEvents);
  }
}

function deliver(lines: readonly string[], onEvents: WatchOptions['onEvents']): void {
  const events = lines.map((line) => JSON.parse(line) as WatchEvent);
  const failed = events.find(({ type }) => type === 'ERROR');
  if (failed) throw new ApiError(failed.object as Status);
  onEvents(events);
}
