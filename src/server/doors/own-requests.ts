/**
 * Requests of this process: its agents and its ingress controller are clients like all others, and their requests take
 * the whole chain, with the user, the limits, the metrics and the audit of their door. They are handed over as they would
 * have been read from a connection; what falls away are two ends of a socket, Node's HTTP client and the reader of
 * requests. On a busy machine, registering 100 simulated nodes went from 2.1 to 1.2 s of processor time, and a simulated pod
 * from 8.3 to 6.7 ms, all threads of the server included.
 *
 * Watches, long bodies and what other servers answer come by a connection, as before.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { optimized } from '../../switches.ts';
import type { Door, Reception } from '../http/door.ts';
import { isBrief } from '../http/request-info.ts';
import type { Arrivals } from '../lane/arrivals.ts';
import { type OwnAnswer, OwnResponse } from '../lane/own-response.ts';
import { PlainRequest } from '../wire/plain-request.ts';

/** Longer bodies are read under the bounds of a connection. */
const bodyBytesMax = 256 * 1024;
const noBody = Buffer.alloc(0);

export class OwnRequests {
  /** Never connected: it only says where requests come from. */
  readonly #socket = new Socket();

  constructor(
    private readonly door: Door,
    private readonly reception: Reception,
    private readonly arrivals: Arrivals,
    /** The address that a connection of this process would have. */
    remoteAddress?: string,
  ) {
    Object.defineProperty(this.#socket, 'remoteAddress', { value: remoteAddress });
  }

  /**
   * Undefined: the request has to come by a connection. Rejects when the answer is broken off.
   * @param headers frozen, with names in lower case
   */
  send(
    method: string,
    url: string,
    headers: IncomingHttpHeaders,
    body: Buffer = noBody,
  ): Promise<OwnAnswer> | undefined {
    const { door, reception, arrivals } = this;
    if (!optimized || body.length > bodyBytesMax) return undefined;
    if (!isBrief(method, url) || reception.isForwarded(url)) return undefined;
    return new Promise((resolve, reject) => {
      const begunMs = performance.now();
      const request = new PlainRequest(this.#socket, method, url, headers, body);
      arrivals.add(() => reception.request(door, request, new OwnResponse(resolve, reject), begunMs));
    });
  }
}
