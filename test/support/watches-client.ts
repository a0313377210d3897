/** A client of a connection of watches, for tests: keeps every message, and waits for those that are expected. */
import { once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import type { Json } from './http.ts';

export class WatchesClient {
  readonly messages: Json[] = [];
  /** The texts of the messages, as they came. */
  readonly texts: string[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #arrived: () => void = () => undefined;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.texts.push(String(data));
      this.messages.push(JSON.parse(String(data)));
      this.#arrived();
    });
    socket.on('error', () => undefined);
    this.closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }));
  }

  static async open(
    url: string,
    protocols: string[] = [],
    options: ClientOptions = {},
  ): Promise<WatchesClient> {
    const address = `${url.replace(/^http/, 'ws')}/wherry/watches`;
    const client = new WatchesClient(new WebSocket(address, protocols, options));
    await once(client.socket, 'open');
    return client;
  }

  send(message: Json): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  start(id: string, path: string, accept?: string): void {
    this.send({ start: id, path, accept });
  }

  /** Starts a watch and waits until it is accepted. */
  async watch(id: string, path: string, accept?: string): Promise<void> {
    this.start(id, path, accept);
    await this.next((message) => message.id === id && message.type === 'STARTED');
  }

  /** The first message that fits, of those that have come and will come. */
  async next(fits: (message: Json) => boolean): Promise<Json> {
    for (let seen = 0; ; ) {
      const found = this.messages.slice(seen).find(fits);
      if (found) return found;
      seen = this.messages.length;
      await new Promise<void>((resolve, reject) => {
        this.#arrived = resolve;
        void this.closed.then(({ code }) => reject(new Error(`the connection was closed with ${code}`)));
      });
    }
  }

  ofWatch = (id: string): Json[] => this.messages.filter((message) => message.id === id);

  close(): void {
    this.socket.terminate();
  }
}
