/**
 * Watches. On the secure door they are streams of one HTTP/2 connection. The local door speaks HTTP/1.1, of which a
 * browser opens six connections for all tabs together, so there each watch is a WebSocket: these do not count. A page
 * cannot set headers of a WebSocket; what it accepts is sent as the parameter `accept`.
 */
import { ApiError, fetchAnswer, type Query, type Status, UnreachableError, withQuery } from './api.ts';
import { connectionLost } from './connection.ts';
import type { Json } from './objects.ts';

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Json;
}

export interface WatchOptions {
  readonly query: Query;
  readonly accept: string;
  readonly signal: AbortSignal;
  /** The server has accepted it. */
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
    : watchBySocket(path, { ...options, query });
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

/** Messages that arrive within one task are delivered together. */
function watchBySocket(path: string, options: WatchOptions): Promise<void> {
  const { query, accept, signal, onOpen, onEvents } = options;
  const address = new URL(withQuery(path, { ...query, accept }), location.href);
  address.protocol = 'ws:';
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address);
    let waiting: string[] = [];
    let isOpen = false;
    const flush = (): void => {
      const lines = waiting;
      waiting = [];
      if (lines.length === 0 || signal.aborted) return;
      try {
        deliver(lines, onEvents);
      } catch (error) {
        reject(error);
        socket.close();
      }
    };
    socket.onopen = () => {
      isOpen = true;
      onOpen?.();
    };
    socket.onmessage = ({ data }) => {
      if (waiting.push(String(data)) === 1) setTimeout(flush);
    };
    socket.onclose = ({ code }) => {
      flush();
      if (signal.aborted) reject(signal.reason);
      else if (code === 1000) resolve();
      else if (isOpen) reject(lost());
      else reasonOf(path, options).then(reject, reject);
    };
    signal.addEventListener('abort', () => socket.close(), { once: true });
  });
}

/** A WebSocket does not say why it was refused; a plain request for the same is answered with the reason. */
async function reasonOf(path: string, { query, accept, signal }: WatchOptions): Promise<Error> {
  const answer = await fetchAnswer(path, { query, accept, signal });
  await answer.body?.cancel();
  return lost();
}

function lost(): UnreachableError {
  void connectionLost();
  return new UnreachableError('The connection was lost.');
}

function deliver(lines: readonly string[], onEvents: WatchOptions['onEvents']): void {
  const events = lines.map((line) => JSON.parse(line) as WatchEvent);
  const failed = events.find(({ type }) => type === 'ERROR');
  if (failed) throw new ApiError(failed.object as Status);
  onEvents(events);
}
