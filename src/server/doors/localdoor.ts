/**
 * The local door: plain HTTP without authentication, for this machine only. A browser can be talked into sending
 * requests to localhost on behalf of any page (DNS rebinding, cross-site requests), so every request must name a
 * local host (or the API by its name in the cluster), and an origin, if it has one, must be local too. Every client that
 * is let in may do everything.
 */
import { createServer, type Server } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { allowAll } from '../../api/access.ts';
import { forbiddenRequest } from '../../api/errors.ts';
import type { User } from '../../api/user.ts';
import { LastMemo } from '../../memo.ts';
import { Arrivals } from '../http/arrivals.ts';
import type { ApiRequest } from '../http/context.ts';
import { ExpressLane } from '../http/expresslane.ts';
import { cutOff, refuse } from '../http/refusal.ts';
import { isBrief } from '../http/requestinfo.ts';
import type { Door, Reception } from './door.ts';
import { HttpListener, headersTimeoutMs, keepAliveMs, listenerOptions } from './httplistener.ts';

const localUser: User = {
  name: 'system:unsecured',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};

export interface LocalDoorOptions {
  /** A loopback address. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where pods of this machine find the server. */
  readonly clusterIP?: string;
}

export class LocalDoor implements Door {
  readonly unidentified = localUser;
  readonly authorizer = allowAll;
  #listener: HttpListener | undefined;
  #express: ExpressLane | undefined;
  /** Nearly all requests name the same host. */
  readonly #isLocalHost = new LastMemo((host: string) => isLoopback(withoutPort(host)));

  constructor(private readonly options: LocalDoorOptions) {}

  get url(): string {
    return `http://${this.#listener!.authority}`;
  }

  async listen(reception: Reception): Promise<void> {
    const server = createServer(listenerOptions(reception.keeper.limits));
    const arrivals = new Arrivals();
    this.#listener = new HttpListener(server, this, reception, arrivals);
    this.#express = this.#expressLane(server, reception, arrivals);
    await this.#listener.listen(this.options.host, this.options.port);
  }

  admit(request: ApiRequest): void {
    const { host, origin } = request.headers;
    if (host === undefined || !(this.#isLocalHost.of(host) || this.#isInCluster(host, request)))
      throw forbiddenRequest(
        `this address serves local clients only, not host ${JSON.stringify(host ?? '')}`,
      );
    if (origin !== undefined && !isLocalOrigin(origin))
      throw forbiddenRequest(`this address serves local pages only, not origin ${JSON.stringify(origin)}`);
  }

  /** Whether a host is what pods of this machine call the API. */
  #isInCluster(host: string, request: ApiRequest): boolean {
    return withoutPort(host) === this.options.clusterIP || isClusterName(host, request);
  }

  identify(): User {
    return localUser;
  }

  shut(): void {
    this.#listener?.shut();
    this.#express?.closeIdle();
  }

  async close(): Promise<void> {
    this.#express?.closeIdle();
    await this.#listener?.close(() => this.#express!.closeAll());
  }

  /** All connections begin in the express lane; Node's server has those that are handed over. */
  #expressLane(server: Server, reception: Reception, arrivals: Arrivals): ExpressLane {
    const byNode = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
    const lane = new ExpressLane({
      headerBytesMax: reception.keeper.limits.headerBytesMax,
      firstMaxMs: headersTimeoutMs,
      keepAliveMs,
      accepts: isBrief,
      serve: (request, response) => {
        const begunMs = performance.now();
        arrivals.add(() => reception.request(this, request, response, begunMs));
      },
      handOver: (socket) => {
        for (const take of byNode) take.call(server, socket);
      },
      refuseCut: (socket) => refuse(socket, cutOff()),
    });
    server.removeAllListeners('connection').on('connection', (socket) => lane.take(socket));
    return lane;
  }
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '0:0:0:0:0:0:0:1')
    return true;
  return isIP(name) === 4 && name.startsWith('127.');
}

/** Host without the port; `[::1]:8080` → `[::1]`. */
const withoutPort = (host: string): string => host.replace(/:\d*$/, '');

/**
 * What pods call the API: the names of the service `kubernetes`, as the cluster's DNS knows them from the namespace
 * `default` and from everywhere.
 */
const clusterNames: ReadonlySet<string> = new Set([
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]);
const httpPort = 80;

/**
 * A foreign name server could let such a name stand for this machine, and so give a page of its own access. A browser
 * then names the port that the server really listens on. Pods name that of the service, so any other is let in.
 */
function isClusterName(host: string, { socket }: ApiRequest): boolean {
  const [, name = '', port = httpPort] = /^([^:]+)(?::(\d{1,5}))?$/.exec(host.toLowerCase()) ?? [];
  return clusterNames.has(name) && Number(port) !== socket.localPort;
}

function isLocalOrigin(origin: string): boolean {
  try {
    return isLoopback(new URL(origin).hostname);
  } catch {
    return false;
  }
}
