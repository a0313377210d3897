/**
 * Handshakes under way. Each costs memory and, at its end, about a millisecond of processor time, and a client can begin
 * as many as it likes without knowing anything. So they are bounded in time and number: when there are too many, the
 * oldest is cut off, which is the one that makes the least progress.
 */
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { composedKey } from '../../composed-key.ts';

/** From the connection to the end of the handshake. */
export const handshakeMaxMs = 10_000;
/** A thousand clients that come back at the same moment after a restart are let in. */
const handshakesMax = 2_000;

export class Handshakes {
  /** By the client's address and port, in the order they began. */
  readonly #open = new Map<string, Socket>();

  constructor(server: Server, max = handshakesMax) {
    server.prependListener('connection', (socket: Socket) => {
      if (this.#open.size >= max) this.#open.values().next().value!.destroy();
      const peer = peerOf(socket);
      this.#open.set(peer, socket);
      socket.on('close', () => {
        if (this.#open.get(peer) === socket) this.#open.delete(peer);
      });
    });
    // Node wraps the socket of the connection, and does not tell which one it was.
    server.on('secureConnection', (socket: TLSSocket) => this.#open.delete(peerOf(socket)));
    server.on('tlsClientError', (_error, socket) => socket.destroy());
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string =>
  composedKey(remoteAddress ?? '', String(remotePort));
