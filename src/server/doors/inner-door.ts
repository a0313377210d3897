/**
 * The inner door: serves the node agents and the ingress of this process over in-memory connections, when the local
 * door is closed. Nothing outside of the process can reach it, so its user needs no credentials.
 */
import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { allowAll } from '../../api/kind/access.ts';
import { authenticated, masters, type User } from '../../api/values/user.ts';
import { memoryPipe, type PipeEnd } from '../../streams/bytes/memory-pipe.ts';
import type { Door, Reception } from '../http/door.ts';
import { Arrivals } from '../lane/arrivals.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';
import { OwnRequests } from './own-requests.ts';

const innerUser: User = { name: 'system:unsecured', groups: [masters, authenticated], extra: {} };

export class InnerDoor implements Door {
  /** A URL for clients that need one; nothing listens there. */
  readonly url = 'http://localhost';
  readonly unidentified = innerUser;
  readonly authorizer = allowAll;
  readonly #open = new Set<PipeEnd>();
  #server: Server | undefined;
  #listener: HttpListener | undefined;
  #own: OwnRequests | undefined;

  async listen(reception: Reception): Promise<void> {
    this.#server = createServer(listenerOptions(reception.keeper.limits));
    const arrivals = new Arrivals();
    this.#listener = new HttpListener(this.#server, this, reception, arrivals);
    this.#own = new OwnRequests(this, reception, arrivals);
  }

  /** Takes a request of this process; undefined when it has to come by a connection. */
  handOver(...sent: Parameters<OwnRequests['send']>): ReturnType<OwnRequests['send']> {
    return this.#own?.send(...sent);
  }

  /** The client's side of a new connection. */
  connect(): Duplex {
    const [client, served] = memoryPipe();
    this.#open.add(served);
    served.on('close', () => this.#open.delete(served));
    this.#server!.emit('connection', served);
    return client;
  }

  admit(): void {
    // No check: only this process can connect.
  }

  identify(): User {
    return innerUser;
  }

  shut(): void {
    this.#own = undefined;
    this.#listener?.shut();
  }

  async close(): Promise<void> {
    await this.#listener?.close(() => undefined);
    for (const pipe of this.#open) pipe.destroy();
  }
}
