/**
 * Open heads: connections on which a request head has begun to arrive and is incomplete. Node's parser buffers each
 * head, up to the limit on headers, so many connections that never finish theirs would fill the memory. So they are
 * bounded together, in number and bytes: the longest, and then the oldest, are closed.
 *
 * Node tells how much it has read from a socket, not when, so the sockets are checked several times per second.
 */
import type { Socket } from 'node:net';

const countMax = 1_000;
const bytesMax = 32 * 1024 * 1024;
const checkMs = 100;

interface Head {
  readonly socket: Socket;
  /** Bytes read before this head: those of earlier requests. */
  readonly before: number;
}

interface Bounds {
  readonly count: number;
  readonly bytes: number;
}

export class OpenHeads {
  /** Connections without a request under way, in the order in which they began to wait for one. */
  readonly #waiting = new Map<Socket, Head>();
  /** Connections that already have a listener for their end. */
  readonly #known = new WeakSet<Socket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly bounds: Bounds = { count: countMax, bytes: bytesMax }) {}

  /** Called when a connection waits for its next request: what arrives from now on is a head. */
  begin(socket: Socket): void {
    if (socket.destroyed) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.once('close', () => this.end(socket));
    }
    // Move it to the end of the order.
    this.#waiting.delete(socket);
    this.#waiting.set(socket, { socket, before: socket.bytesRead - socket.readableLength });
    this.#timer ??= setInterval(() => this.check(), checkMs).unref();
  }

  /** Called when the head is complete, or its connection is gone. */
  end(socket: Socket): void {
    this.#waiting.delete(socket);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Closes connections until both bounds hold. */
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
