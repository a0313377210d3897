/** Forwards requests to endpoints of services, as the routes say. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { StatusError, unavailable } from '../api/errors/errors.ts';
import { hostPort } from '../streams/dial/net-error.ts';
import { ClientGone } from '../streams/dial/tunnel.ts';
import { refuseUpgrade } from '../streams/dial/upgrade-request.ts';
import { forward, forwardUpgrade, letFinish, type ProxyTarget } from '../streams/proxy/reverse-proxy.ts';
import type { Backends, Endpoint } from './backends.ts';
import type { Certificates } from './certificates.ts';
import { type Asked, markOrigin, readRequest } from './edge-request.ts';
import { hostKeys } from './hosts.ts';
import type { BackendPort, IngressRoute, Routes } from './routes.ts';

/** Endpoints tried for one request: one may be gone before the API shows it. */
const dialsMax = 3;

type Dial = (endpoint: Endpoint) => Promise<Duplex>;

export interface TrafficOptions {
  readonly routes: () => Routes;
  readonly backends: Backends;
  readonly certificates: Certificates;
  /** The HTTPS port, if there is one. */
  readonly tlsPort: () => number | undefined;
  readonly dial: Dial;
  /** Called with errors that neither the client nor a backend has caused. */
  readonly onError: (error: Error) => void;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

const nobody: Answer = { status: 404, text: 'default backend - 404' };

export class IngressTraffic {
  constructor(private readonly options: TrafficOptions) {}

  async request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const way = this.#way(request);
      if (!('connect' in way)) return answer(request, response, way);
      await forward(request, response, way);
    } catch (error) {
      answer(request, response, this.#failure(error));
    }
  }

  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    try {
      const way = this.#way(request);
      if (!('connect' in way)) return refuseUpgrade(socket, way);
      await forwardUpgrade(request, socket, head, way);
    } catch (error) {
      if (error instanceof ClientGone) socket.destroy();
      else refuseUpgrade(socket, this.#failure(error));
    }
  }

  #way(request: IncomingMessage): ProxyTarget | Answer {
    const asked = readRequest(request);
    const route = this.options.routes().find(asked.host, asked.path);
    if (!route) return nobody;
    const elsewhere = this.#redirect(asked, route);
    if (elsewhere) return { status: 308, text: '', headers: [['Location', elsewhere]] };
    if (!route.service) throw unavailable('backends other than services are not supported');
    markOrigin(request, asked);
    return this.#target(route.service, asked);
  }

  /** Redirects only if there is a certificate for the host: otherwise the HTTPS request would fail. */
  #redirect({ host, secure, target }: Asked, { redirected }: IngressRoute): string | undefined {
    const port = this.options.tlsPort();
    if (secure || port === undefined || host === '') return undefined;
    if (!hostKeys(host).some((key) => redirected.has(key))) return undefined;
    if (!this.options.certificates.find(host)) return undefined;
    return `https://${host}${port === 443 ? '' : `:${port}`}${target}`;
  }

  #target(service: BackendPort, { target }: Asked): ProxyTarget {
    const endpoints = this.options.backends.take(service, dialsMax);
    if (endpoints.length === 0) throw unavailable(`service "${service.name}" has no endpoints`);
    return {
      connect: () => this.#connect(service, endpoints),
      host: hostPort(endpoints[0]!.ip, endpoints[0]!.port),
      path: target,
      prefix: '',
      rewrite: false,
      dropCors: false,
      ownOrigin: false,
      keepHost: true,
      keepCredentials: true,
    };
  }

  async #connect(service: BackendPort, endpoints: readonly Endpoint[]): Promise<Duplex> {
    for (const endpoint of endpoints) {
      try {
        return await this.options.dial(endpoint);
      } catch {
        // Try the next endpoint. Do not show addresses to clients.
      }
    }
    throw unavailable(`service "${service.name}" cannot be reached`);
  }

  #failure(error: unknown): Answer {
    if (!(error instanceof StatusError)) {
      this.options.onError(error as Error);
      return { status: 500, text: 'internal error' };
    }
    const { code: status, message: text } = error;
    // An error without a Status comes from the backend, and its message may contain addresses.
    if (status === 500) return { status: 502, text: 'the backend has not answered as it should' };
    if (status === 503 && text.startsWith('error trying'))
      return { status: 502, text: 'the backend has not answered' };
    return { status, text };
  }
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, text, headers = [] }: Answer,
): void {
  // The head was already sent: cut the connection, so that the client does not take a partial body for a
  // complete one.
  if (response.headersSent) return void response.destroy();
  const list = [
    ...headers.flat(),
    ...(text === ''
      ? []
      : ['Content-Type', 'text/plain; charset=utf-8', 'X-Content-Type-Options', 'nosniff']),
    'Content-Length',
    String(Buffer.byteLength(text)),
  ];
  response.writeHead(status, list).end(text);
  letFinish(request);
}
