/**
 * Open heads: connections on which the head of a request has begun to arrive and is not complete. Node's parser keeps
 * what there is of each, up to the bound on headers, so many connections that never finish theirs would fill the memory.
 * So they are bounded together, in number and bytes: the longest, and then the oldest, are cut off.
 *
 * Node tells how much it has read of a socket, not when; so what has arrived is looked at several times per second.
 */
import type { Socket } from 'node:net';

const countMax = 1_000;
const bytesMax = 32 * 1024 * 1024;
const checkMs = 100;

interface Head {
  readonly socket: Socket;
  /** Bytes of the connection that belong to requests before. */
  readonly before: number;
}

interface Bounds {
  readonly count: number;
  readonly bytes: number;
}

export class OpenHeads {
  /** Connections without a request under way, in the order in which they began to wait for one. */
  readonly #waiting = new Map<Socket, Head>();
  /** Connections whose end is awaited. */
  readonly #known = new WeakSet<Socket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly bounds: Bounds = { count: countMax, bytes: bytesMax }) {}

  /** From now on, what arrives is the head of the next request. */
  begin(socket: Socket): void {
    if (socket.destroyed) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.once('close', () => this.end(socket));
    }
    // At the end of the order, wherever it was before.
    this.#waiting.delete(socket);
    this.#waiting.set(socket, { socket, before: socket.bytesRead - socket.readableLength });
    this.#timer ??= setInterval(() => this.check(), checkMs).unref();
  }

  /** The head is complete, or its connection is gone. */
  end(socket: Socket): void {
    this.#waiting.delete(socket);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Cuts off what is too much. */
  check(): void {
    const open: { readonly socket: Socket; readonly bytes: number }[] = [];
    let sum = 0;
    for (const { socket, before } of this.#waiting.values()) {
      const bytes = socket.bytesRead - before;
      if (bytes <= 0) continue;
      open.push({ socket, bytes });
      sum += bytes;
    }
    if (sum <= this.bounds.bytes && open.length <= this.bounds.count) return;
    const longest = sum > this.bounds.bytes ? [...open].sort((a, b) => b.bytes - a.bytes) : [];
    const cut = new Set<Socket>();
    for (const { socket, bytes } of longest) {
      if (sum <= this.bounds.bytes) break;
      sum -= bytes;
      cut.add(socket);
    }
    const rest = open.filter(({ socket }) => !cut.has(socket));
    for (const { socket } of rest.slice(0, Math.max(0, rest.length - this.bounds.count))) cut.add(socket);
    for (const socket of cut) socket.destroy();
  }
}
