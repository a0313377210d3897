/**
 * The local door: plain HTTP without authentication, for this machine only. Every client that is let in may do
 * everything. A web page can make a browser send requests to localhost (DNS rebinding, cross-site requests), so every
 * request must name a local host (or the API by its name in the cluster), and its origin, if it has one, must be local,
 * too, and this server's: other ports may be those of pods. Browsers send no origin with simple requests such as those for
 * images; for these, `Sec-Fetch-Site` says whether the page is another site's.
 */
import { createServer } from 'node:http';
import { forbiddenRequest } from '../../api/errors/errors.ts';
import { allowAll } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { LastMemo } from '../../memo.ts';
import { allowedPages } from '../http/allowed-pages.ts';
import type { ApiRequest } from '../http/context.ts';
import type { Door, Reception } from '../http/door.ts';
import { isBrief } from '../http/request-info.ts';
import { Arrivals } from '../lane/arrivals.ts';
import type { ExpressLane } from '../lane/express-lane.ts';
import { GuardedResponse, guardLines } from '../wire/guard-headers.ts';
import { doorLane } from './door-lane.ts';
import { isForeignPage, isLoopback } from './foreign-page.ts';
import { HttpListener, listenerOptions } from './http-listener.ts';
import { OwnRequests } from './own-requests.ts';

const localUser: User = {
  name: 'system:unsecured',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};

export interface LocalDoorOptions {
  /** A loopback address. */
  readonly host: string;
  /** The port; 0 is any free one. */
  readonly port: number;
  /** The address under which pods of this machine reach the server. */
  readonly clusterIP?: string;
}

export class LocalDoor implements Door {
  readonly unidentified = localUser;
  readonly showsTraces = true;
  readonly opensPorts = true;
  readonly authorizer = allowAll;
  #listener: HttpListener | undefined;
  #express: ExpressLane | undefined;
  #reception: Reception | undefined;
  #own: OwnRequests | undefined;
  /** The host checked last, cached because nearly all requests have the same. */
  readonly #isLocalHost = new LastMemo((host: string) => isLoopback(withoutPort(host)));

  constructor(private readonly options: LocalDoorOptions) {}

  get url(): string {
    return `http://${this.#listener!.authority}`;
  }

  async listen(reception: Reception): Promise<void> {
    this.#reception = reception;
    const server = createServer({
      ...listenerOptions(reception.keeper.limits),
      ServerResponse: GuardedResponse,
    });
    const arrivals = new Arrivals(reception.prefetchRevision);
    this.#listener = new HttpListener(server, this, reception, arrivals, 'connection');
    const lane = doorLane(this, server, 'connection', reception, arrivals, guardLines);
    server.on('connection', (socket) => lane.take(socket));
    this.#express = lane;
    await this.#listener.listen(this.options.host, this.options.port);
    this.#own = new OwnRequests(this, reception, arrivals, this.options.host);
  }

  /** Takes a request of this process; undefined when it has to come by a connection. */
  handOver(...sent: Parameters<OwnRequests['send']>): ReturnType<OwnRequests['send']> {
    return this.#own?.send(...sent);
  }

  admit(request: ApiRequest): void {
    const { host, origin } = request.headers;
    if (host === undefined || !(this.#isLocalHost.of(host) || this.#isInCluster(host, request)))
      throw forbiddenRequest(
        `this address serves local clients only, not host ${JSON.stringify(host ?? '')}`,
      );
    if (origin !== undefined && !isLocalOrigin(origin))
      throw forbiddenRequest(`this address serves local pages only, not origin ${JSON.stringify(origin)}`);
    if (isForeignPage(request.headers) && !allowedPages.has(request) && !this.#isFollowed(request))
      throw forbiddenRequest(
        `this address serves its own pages only, not those of other ${otherOf(request)}`,
      );
  }

  #isFollowed(request: ApiRequest): boolean {
    return isFollowedLink(request) && !this.#reception?.isForwarded(request.url!);
  }

  /** Whether a host is a name of the API service, as pods of this machine use it. */
  #isInCluster(host: string, request: ApiRequest): boolean {
    return withoutPort(host) === this.options.clusterIP || isClusterName(host, request);
  }

  identify(): User {
    return localUser;
  }

  shut(): void {
    this.#own = undefined;
    this.#listener?.shut();
    this.#express?.closeIdle();
  }

  async close(): Promise<void> {
    this.#express?.closeIdle();
    await this.#listener?.close(() => this.#express!.closeAll());
  }
}

/** Host without the port; `[::1]:8080` → `[::1]`. */
const withoutPort = (host: string): string => host.replace(/:\d*$/, '');

/**
 * The names of the `kubernetes` service, as the cluster's DNS resolves them from the namespace `default` and from
 * others.
 */
const clusterNames: ReadonlySet<string> = new Set([
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]);
const httpPort = 80;

/**
 * Whether a host is a cluster name of the API and its port is not the port of this server. Against DNS rebinding: an
 * attacker's name server could resolve such a name to this machine, and the browser would then name the port that the
 * server listens on. Pods name the service's port.
 */
function isClusterName(host: string, { socket }: ApiRequest): boolean {
  const [, name = '', port = httpPort] = /^([^:]+)(?::(\d{1,5}))?$/.exec(host.toLowerCase()) ?? [];
  return clusterNames.has(name) && Number(port) !== socket.localPort;
}

/**
 * Whether the request is a person following a link to something that is only read from memory. The page with the link
 * cannot read the answer and cannot change anything by it. Proxied requests do not count: what a GET does is up to
 * their target.
 */
function isFollowedLink({ method, url, headers }: ApiRequest): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    headers['sec-fetch-user'] === '?1' &&
    isBrief(method, url!)
  );
}

const otherOf = ({ headers }: ApiRequest): string =>
  headers['sec-fetch-site'] === 'cross-site' ? 'sites' : 'ports';

function isLocalOrigin(origin: string): boolean {
  try {
    return isLoopback(new URL(origin).hostname);
  } catch {
    return false;
  }
}
