/**
 * Connections to the kubelet API of clients that are not the API server. They get 401, and are kept from taking the memory of
 * the agent meanwhile: few at a time, short heads, little time.
 */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { refuseUpgrade } from '../../streams/dial/upgrade-request.ts';

const connectionsMax = 100;
const headerBytesMax = 16 * 1024;
const lifeMs = 10_000;
const refusal = { status: 401, text: 'Unauthorized' } as const;

export class Strangers {
  readonly #server = createServer({ maxHeaderSize: headerBytesMax });
  /** The oldest is the first. */
  readonly #open = new Set<Socket>();

  constructor() {
    this.#server
      .on('clientError', (_error, socket) => socket.destroy())
      .on('upgrade', (_request, socket) => {
        socket.on('error', () => undefined);
        refuseUpgrade(socket, refusal);
      })
      .on('request', (request, response) => {
        request.on('error', () => undefined);
        response
          .on('error', () => undefined)
          .writeHead(refusal.status, {
            'Content-Type': 'text/plain; charset=utf-8',
            'X-Content-Type-Options': 'nosniff',
            Connection: 'close',
          })
          .end(refusal.text);
      });
  }

  take(socket: Socket): void {
    const [oldest] = this.#open;
    if (oldest && this.#open.size >= connectionsMax) {
      this.#open.delete(oldest);
      oldest.destroy();
    }
    this.#open.add(socket);
    const late = setTimeout(() => socket.destroy(), lifeMs).unref();
    socket.once('close', () => {
      clearTimeout(late);
      this.#open.delete(socket);
    });
    this.#server.emit('connection', socket);
  }
}
