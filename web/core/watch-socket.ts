/**
 * The one WebSocket for all watches of the dashboard, on the local door: a browser opens at most six HTTP/1.1
 * connections for all tabs together, and WebSockets do not count. It is opened with the first watch. When it is lost,
 * so are its watches; each continues on the next WebSocket.
 */
import { ApiError, fetchAnswer, type Status, UnreachableError } from './api.ts';
import { connectionLost } from './connection.ts';
import type { Json } from './objects.ts';
import { openSocket } from './socket.ts';

const place = '/wherry/watches';
/** Close code of a WebSocket that its server ends normally. */
const inOrder = 1000;
/** The answer to a plain request for the WebSocket's path: the WebSocket was refused because there are too many. */
const upgradeRequired = 426;

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Json;
}

interface Message {
  readonly id?: string;
  readonly type: WatchEvent['type'] | 'STARTED' | 'ENDED' | 'REFUSED';
  readonly object: Json;
}

export interface SocketWatch {
  /** With the query. */
  readonly path: string;
  readonly accept: string;
  readonly signal: AbortSignal;
  readonly onOpen?: () => void;
  readonly onEvents: (events: readonly WatchEvent[]) => void;
}

interface OpenWatch extends SocketWatch {
  /** Events that have not been delivered yet. */
  events: WatchEvent[];
  /** Settles the watch; an error rejects it. */
  readonly settle: (error?: unknown) => void;
}

let current: WatchSocket | undefined;
let ids = 0;

/** Runs a watch until the server ends it. */
export function watchBySocket(watch: SocketWatch): Promise<void> {
  current ??= new WatchSocket();
  return current.run(watch);
}

class WatchSocket {
  readonly #socket = openSocket(place, {}, ['v1.watches.wherry']);
  readonly #watches = new Map<string, OpenWatch>();
  #waiting: string[] = [];
  #isOpen = false;

  constructor() {
    this.#socket.onopen = () => {
      this.#isOpen = true;
      for (const [id, watch] of this.#watches) this.#start(id, watch);
    };
    this.#socket.onmessage = ({ data }) => {
      if (this.#waiting.push(String(data)) === 1) setTimeout(() => this.#flush());
    };
    this.#socket.onclose = ({ code }) => void this.#close(code);
  }

  run(watch: SocketWatch): Promise<void> {
    return new Promise((resolve, reject) => {
      if (watch.signal.aborted) return reject(watch.signal.reason);
      const id = String(++ids);
      const stop = (): void => {
        this.#settle(id, watch.signal.reason);
        if (this.#isOpen) this.#socket.send(JSON.stringify({ end: id }));
      };
      const settle = (error?: unknown): void => {
        watch.signal.removeEventListener('abort', stop);
        if (error === undefined) resolve();
        else reject(error);
      };
      const open = { ...watch, events: [], settle };
      this.#watches.set(id, open);
      watch.signal.addEventListener('abort', stop);
      if (this.#isOpen) this.#start(id, open);
    });
  }

  #start(id: string, { path, accept }: SocketWatch): void {
    this.#socket.send(JSON.stringify({ start: id, path, accept }));
  }

  /** Messages that arrive within one task are delivered together. */
  #flush(): void {
    const texts = this.#waiting;
    this.#waiting = [];
    for (const text of texts) this.#take(JSON.parse(text) as Message);
    for (const id of this.#watches.keys()) this.#deliver(id);
  }

  #take({ id = '', type, object }: Message): void {
    const watch = this.#watches.get(id);
    if (!watch) return;
    if (type === 'STARTED') watch.onOpen?.();
    else if (type === 'ENDED') this.#settle(id);
    else if (type === 'ERROR' || type === 'REFUSED') this.#settle(id, new ApiError(object as Status));
    else watch.events.push({ type, object });
  }

  #deliver(id: string): void {
    const watch = this.#watches.get(id)!;
    const { events } = watch;
    if (events.length === 0) return;
    watch.events = [];
    try {
      watch.onEvents(events);
    } catch (error) {
      this.#settle(id, error);
      this.#socket.send(JSON.stringify({ end: id }));
    }
  }

  /** Delivers what came before the end. */
  #settle(id: string, error?: unknown): void {
    const watch = this.#watches.get(id);
    if (!watch) return;
    if (!watch.signal.aborted) this.#deliver(id);
    this.#watches.delete(id);
    watch.settle(error);
  }

  async #close(code: number): Promise<void> {
    if (current === this) current = undefined;
    this.#flush();
    const error = code === inOrder ? undefined : this.#isOpen ? lost() : await reason();
    for (const id of [...this.#watches.keys()]) this.#settle(id, error);
  }
}

/**
 * The reason of a refused WebSocket, which does not contain it: a plain request for the same path is answered with the
 * reason.
 */
async function reason(): Promise<unknown> {
  try {
    await fetchAnswer(place);
    return lost();
  } catch (error) {
    if (!(error instanceof ApiError && error.code === upgradeRequired)) return error;
    return new ApiError({ code: 503, message: 'The server accepted no WebSocket.' });
  }
}

export function lost(): UnreachableError {
  void connectionLost();
  return new UnreachableError('The connection was lost.');
}
