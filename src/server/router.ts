/** The router: finds the handler of a request. */
import {
  badRequest,
  methodNotAllowed,
  notFound,
  resourceNotFound,
  StatusError,
  verbNotSupported,
} from '../api/errors/errors.ts';
import type { Kind } from '../api/kind/kind.ts';
import type { RemoteVersion } from '../extensions/aggregation/api-services.ts';
import type { Discovery } from './discovery/discovery.ts';
import { answerText } from './http/answer.ts';
import type { Handler, RequestContext } from './http/context.ts';
import {
  isProxy,
  type ProxiedInfo,
  type RequestInfo,
  type ResourceInfo,
  watchesPath,
} from './http/request-info.ts';
import { fitsScope, handlerOf, type ResourceRoutes } from './http/routes.ts';
import type { Pages } from './pages.ts';
import type { Proxying } from './pods/proxying.ts';
import { type Resources, RouteTable } from './route-table.ts';

export class Router {
  #table: RouteTable | undefined;
  /** The generation of the table of kinds from which the routes were built. */
  #generation = -1;
  /** Loaded at the first connection, with all code for connections: most processes never need it. */
  #proxying: Promise<Proxying> | undefined;
  readonly #page: Handler;
  readonly #proxy: Handler = async (context, info) =>
    (await this.#loadProxying()).serve(context, info as ProxiedInfo);
  /** Loaded with the first connection of watches. */
  readonly #watches: Handler = async (context) =>
    (await import('./objects/watch-connection.ts')).serveWatches(this.resources.watching, context);

  constructor(
    private readonly resources: Resources,
    private readonly discovery: Discovery,
    pages: Pages,
  ) {
    this.#page = (context) => pages.answer(context);
  }

  /** The handler of a request; throws 404 or 405. */
  find(context: RequestContext): Handler {
    const { info, upgrade } = context;
    const { resource } = info;
    const remote = this.#remoteOf(info);
    if (remote) return this.#forwarded(remote);
    if (upgrade) return this.#findUpgrade(context);
    if (!resource) return info.path === watchesPath ? needsWebSocket : this.#page;
    if (isProxy(resource)) return this.#proxy;
    const found = this.#routes.find(resource);
    if (typeof found === 'function') return found;
    if (!found) return this.#unknown(info, resource);
    if (found.deprecation) context.warnings.push(found.deprecation);
    return resourceHandler(found, info, resource);
  }

  /** Whether a path belongs to another server. */
  isForwarded(url: string): boolean {
    return this.resources.aggregation?.services.remoteOfPath(url) !== undefined;
  }

  #remoteOf({ path, resource }: RequestInfo): RemoteVersion | undefined {
    const services = this.resources.aggregation?.services;
    if (!services) return undefined;
    return resource ? services.remote(resource.apiVersion) : services.remoteOfPath(path);
  }

  #forwarded(remote: RemoteVersion): Handler {
    const { aggregation, connecting } = this.resources;
    return async (context) => {
      // Loaded with the first request: most clusters have no such versions.
      const { forwardAggregated } = await import('./aggregated/aggregated-proxy.ts');
      return forwardAggregated(context, remote, aggregation!, connecting.open);
    };
  }

  /** Whether a resource or subresource is served. */
  serves(apiVersion: string, resource: string, subresource: string | undefined): boolean {
    return this.discovery.serves(apiVersion, subresource ? `${resource}/${subresource}` : resource);
  }

  get #routes(): RouteTable {
    const { generation } = this.resources.serving.registry.kinds;
    if (!this.#table || generation !== this.#generation) {
      this.#table = new RouteTable(this.resources);
      this.#generation = generation;
    }
    return this.#table;
  }

  /** Paths of a group that is not served get the 404 of an unknown page. */
  #unknown({ path }: RequestInfo, { group }: ResourceInfo): Handler {
    if (path.startsWith('/apis/') && !this.#routes.hasGroup(group)) return unknownPage;
    if (this.#routes.isCustomGroup(group)) return unknownPage;
    throw resourceNotFound();
  }

  /** Only watches, connections of them, connections into pods and proxies accept an upgrade. */
  #findUpgrade({ info, request }: RequestContext): Handler {
    const { resource, lasting, method } = info;
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
    if (info.path === watchesPath && isWebSocket) return this.#watches;
    if (resource && isProxy(resource)) return this.#proxy;
    const found = resource && this.#routes.find(resource);
    if (found && typeof found !== 'function' && fitsScope(found.namespaced, resource)) {
      if (lasting === 'watch' && found.watch && isWebSocket) return found.watch;
      const { subresource = '', tail, watchPrefix } = resource;
      if (found.upgradable.has(subresource) && tail.length === 0 && !watchPrefix)
        return handlerOf(found.parts.get(subresource)!, method);
    }
    throw badRequest('this path does not take an upgrade of the connection');
  }

  #loadProxying(): Promise<Proxying> {
    this.#proxying ??= import('./pods/proxying.ts').then(
      ({ Proxying }) => new Proxying(this.resources.connecting),
    );
    return this.#proxying;
  }
}

const needsWebSocket: Handler = () => {
  throw new StatusError(426, 'UpgradeRequired', 'watches of this path come over a WebSocket');
};

const unknownPage: Handler = (context) => answerText(context, 404, '404 page not found\n');

function resourceHandler(routes: ResourceRoutes, info: RequestInfo, resource: ResourceInfo): Handler {
  const { watch } = routes;
  if (resource.watchPrefix && watch && info.method !== 'GET') throw methodNotAllowed();
  if (info.lasting === 'watch' && watch && fitsScope(routes.namespaced, resource)) return watch;
  if (resource.watchPrefix) {
    if (routes.custom) return unknownPage;
    throw resourceNotFound();
  }
  if (routes.custom) return customHandler(routes, routes.custom, info.method, resource);
  if (routes.all) return routes.all;
  const route = fitsScope(routes.namespaced, resource) ? routeOf(routes, resource) : undefined;
  if (!route) throw resourceNotFound();
  return handlerOf(route, info.method);
}

const verbOfMethod: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** The handler of a custom kind, which Kubernetes refuses in other words than its own kinds. */
function customHandler(routes: ResourceRoutes, kind: Kind, method: string, resource: ResourceInfo): Handler {
  const { name, namespace, subresource, tail } = resource;
  const spansNamespaces = kind.namespaced && namespace === undefined;
  const fits = kind.namespaced || namespace === undefined;
  if (!fits || tail.length > 0 || (spansNamespaces && (name !== undefined || method !== 'GET')))
    return unknownPage;
  if (name === undefined && (method === 'PUT' || method === 'PATCH'))
    throw badRequest('name must be provided');
  const route = routeOf(routes, resource);
  if (!route) throw notFound(kind, name!);
  const isUnknown = subresource !== undefined && typeof route !== 'function' && !route.has(method);
  if (isUnknown && Object.hasOwn(verbOfMethod, method)) throw verbNotSupported(kind, verbOfMethod[method]!);
  return handlerOf(route, method);
}

function routeOf(routes: ResourceRoutes, { name, subresource, tail }: ResourceInfo) {
  if (name === undefined) return routes.collection;
  if (subresource === undefined) return routes.object;
  return tail.length === 0 ? routes.parts.get(subresource) : undefined;
}
