/**
 * Pipelining: requests that a client sends on one connection without waiting for answers are handled one after the
 * other, as if the client had waited.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait for earlier answers. */
const waitingMax = 1_000;

export class Pipelining {
  /** The newest answer of each connection, until Node reports it as closed: only then is it known whether others follow. */
  readonly #newest = new WeakMap<Socket, ServerResponse>();
  /** How many requests of a connection wait for those before them. */
  readonly #waiting = new WeakMap<Socket, number>();

  /** The newest answer of a connection, if it has not been sent: later answers must wait for it. */
  unfinished(socket: Socket): ServerResponse | undefined {
    return this.#newest.get(socket);
  }

  /** Registers the next request of a connection; returns the answer that it has to wait for, if any. */
  add(socket: Socket, response: ServerResponse): ServerResponse | undefined {
    const before = this.unfinished(socket);
    this.#newest.set(socket, response);
    return before;
  }

  /** Called when an answer of a connection is closed. */
  done(socket: Socket, response: ServerResponse): void {
    if (this.#newest.get(socket) === response) this.#newest.delete(socket);
  }

  /** Calls back when an answer has been sent; false when too many requests of its connection are waiting. */
  after(before: ServerResponse, socket: Socket, proceed: () => void): boolean {
    const waiting = this.#waiting.get(socket) ?? 0;
    if (waiting >= waitingMax) return false;
    this.#waiting.set(socket, waiting + 1);
    before.once('close', () => {
      this.#waiting.set(socket, this.#waiting.get(socket)! - 1);
      proceed();
    });
    return true;
  }
}
