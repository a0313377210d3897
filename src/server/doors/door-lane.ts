/**
 * The express lane of a door: all connections start there; those that the lane cannot serve are handed over to Node's
 * server.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Door, Reception } from '../http/door.ts';
import { isBrief } from '../http/request-info.ts';
import type { Arrivals } from '../lane/arrivals.ts';
import { ExpressLane } from '../lane/express-lane.ts';
import { cutOff, cuts, refuse } from '../wire/refusal.ts';
import { headersTimeoutMs, keepAliveMs } from './http-listener.ts';

/**
 * Makes the lane; the door passes it the connections of the event `event`.
 * @param standingLines header lines of every answer, each with its line end
 */
export function doorLane(
  door: Door,
  server: Server,
  event: 'connection' | 'secureConnection',
  reception: Reception,
  arrivals: Arrivals,
  standingLines?: string,
): ExpressLane {
  const byNode = server.listeners(event) as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners(event);
  return new ExpressLane({
    headerBytesMax: reception.keeper.limits.headerBytesMax,
    firstMaxMs: headersTimeoutMs,
    keepAliveMs,
    standingLines,
    accepts: (method, url) => isBrief(method, url) && !reception.isForwarded(url),
    serve: (request, response, isNew) => {
      const begunMs = performance.now();
      const handle = (): void => reception.request(door, request, response, begunMs);
      // Ask for the newest revision only after plain reads: data of a TLS connection may have arrived after it became
      // readable, and writes ask later.
      if (isNew && request.method === 'GET' && event === 'connection') arrivals.addRead(handle);
      else arrivals.add(handle);
    },
    handOver: (socket) => {
      for (const take of byNode) take.call(server, socket);
    },
    refuseCut: (socket) => {
      // Nobody else listens to it any more, and its client may be gone by then.
      socket.on('error', () => socket.destroy());
      cuts.add(() => refuse(socket, cutOff()));
    },
  });
}
