/**
 * TLS handshakes under way. Each costs memory and about a millisecond of processor time, and any client can begin many.
 * So they are bounded in time and number: when there are too many, the oldest is closed, because it makes the least
 * progress. One address may have only a share of them, so it cannot push out the handshakes of others.
 */
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { composedKey } from '../composed-key.ts';

/** Maximum duration, from the connection to the end of the handshake. */
export const handshakeMaxMs = 10_000;
/** Maximum number, enough for a thousand clients that reconnect at the same moment after a restart. */
const handshakesMax = 2_000;

export class Handshakes {
  /** Open sockets by address and port of the client, in the order they began: all together, and per address. */
  readonly #open = new Map<string, Socket>();
  readonly #ofAddress = new Map<string, Map<string, Socket>>();

  constructor(
    server: Server,
    private readonly max = handshakesMax,
  ) {
    server.prependListener('connection', (socket: Socket) => {
      const { remoteAddress = '' } = socket;
      const peer = peerOf(socket);
      this.#makeRoom(remoteAddress);
      this.#open.set(peer, socket);
      const own = this.#ofAddress.get(remoteAddress) ?? new Map<string, Socket>();
      this.#ofAddress.set(remoteAddress, own.set(peer, socket));
      socket.on('close', () => {
        if (this.#open.get(peer) === socket) this.#end(remoteAddress, peer);
      });
    });
    // Node wraps the socket and does not say which one it was, so it is found by address and port.
    server.on('secureConnection', (socket: TLSSocket) =>
      this.#end(socket.remoteAddress ?? '', peerOf(socket)),
    );
    server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Closes handshakes until there is room. One address may have half of what the others leave. */
  #makeRoom(address: string): void {
    const own = this.#ofAddress.get(address);
    const left = this.max - this.#open.size + (own?.size ?? 0);
    if (own && own.size >= Math.ceil(left / 2)) this.#cutOldest(own);
    else if (this.#open.size >= this.max) this.#cutOldest(this.#open);
  }

  #cutOldest(sockets: ReadonlyMap<string, Socket>): void {
    for (const [peer, socket] of sockets) {
      this.#end(socket.remoteAddress ?? '', peer);
      socket.destroy();
      return;
    }
  }

  #end(address: string, peer: string): void {
    this.#open.delete(peer);
    const own = this.#ofAddress.get(address);
    if (own?.delete(peer) && own.size === 0) this.#ofAddress.delete(address);
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string =>
  composedKey(remoteAddress ?? '', String(remotePort));
