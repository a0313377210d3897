/**
 * Routes: which backend a request goes to. The table is built when ingresses change, and searched for every request:
 *
 *   exact host → wildcard host → any host; in each an exact path before the longest prefix;
 *   then the default backend of an ingress with a rule for the host; then that of any ingress.
 *
 * Of equal rules in two ingresses, the older ingress wins.
 */
import type { HTTPIngressPath, Ingress, IngressBackend } from '../api/generated/types.ts';
import { encodeUnsafe, resolveDots } from '../streams/proxy/url-path.ts';
import { inSlices } from '../time-slices.ts';
import { entryOf, hostKeys } from './hosts.ts';
import { byAge, type Problem, problemsMax, tlsEntries, wantsRedirect } from './served.ts';

/** Steps of the event loop's slices that a path and a host take. */
const pathSteps = 100;
const hostSteps = 20;

/** The backend: a port of a service, by number or name. */
export interface BackendPort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number | string;
}

export interface IngressRoute {
  /** Absent when the backend is not a service. */
  readonly service: BackendPort | undefined;
  /** The hosts whose requests are redirected to HTTPS. */
  readonly redirected: ReadonlySet<string>;
  readonly ingress: Ingress;
}

export class Routes {
  readonly problems: Problem[] = [];
  readonly #hosts = new Map<string, HostRoutes>();
  #default: IngressRoute | undefined;
  #problemsLeft = 0;

  constructor(ingresses: Iterable<Ingress> = []) {
    for (const _steps of this.#adding(byAge(ingresses)));
  }

  /** The same, made in slices: ingresses may have tens of thousands of paths. @param sorted oldest first */
  static async made(sorted: readonly Ingress[]): Promise<Routes> {
    const routes = new Routes();
    await inSlices(routes.#adding(sorted));
    return routes;
  }

  *#adding(sorted: readonly Ingress[]): Generator<number, void> {
    for (const ingress of sorted) yield* this.#add(ingress);
    // An ingress with only a default backend gets all requests that no rule matches.
    const plain = sorted.find(({ spec }) => spec?.backend && !spec.rules?.length);
    const fallback = plain ?? sorted.find(({ spec }) => spec?.backend);
    if (fallback) this.#default = routeOf(fallback, fallback.spec!.backend!, redirectedHosts(fallback));
  }

  /**
   * @param host in lower case, without a port
   * @param path as received, without a query
   */
  find(host: string, path: string): IngressRoute | undefined {
    const asked = canonicalPath(path);
    const keys = hostKeys(host);
    for (const key of keys) {
      const route = this.#hosts.get(key)?.find(asked);
      if (route) return route;
    }
    for (const key of keys) {
      const route = this.#hosts.get(key)?.fallback;
      if (route) return route;
    }
    return this.#default;
  }

  *#add(ingress: Ingress): Generator<number, void> {
    const { backend, rules = [] } = ingress.spec ?? {};
    this.#problemsLeft = problemsMax;
    const redirected = redirectedHosts(ingress);
    yield redirected.size * hostSteps;
    const fallback = backend && routeOf(ingress, backend, redirected);
    if (backend?.resource) this.#unsupported(ingress, 'the default backend');
    for (const { host = '', http } of rules) {
      const table = entryOf(this.#hosts, host, () => new HostRoutes());
      table.fallback ??= fallback;
      // A rule without paths sends the whole host to the default backend.
      const paths: HTTPIngressPath[] = http?.paths ?? (backend ? [{ path: '/', backend }] : []);
      for (const entry of paths) {
        yield pathSteps;
        const winner = table.add(entry, routeOf(ingress, entry.backend ?? {}, redirected));
        if (winner) this.#taken(ingress, winner.ingress, `${host || '*'}${entry.path ?? '/'}`);
        else if (entry.backend?.resource) this.#unsupported(ingress, `${host || '*'}${entry.path ?? '/'}`);
      }
    }
  }

  #taken(ingress: Ingress, by: Ingress, what: string): void {
    if (by === ingress || this.#problemsLeft-- <= 0) return;
    const message = `${what} is served for the older ingress ${by.metadata.namespace}/${by.metadata.name}`;
    this.problems.push({ ingress, reason: 'PathTaken', message });
  }

  #unsupported(ingress: Ingress, what: string): void {
    if (this.#problemsLeft-- <= 0) return;
    const message = `${what}: backends other than services are not supported`;
    this.problems.push({ ingress, reason: 'UnsupportedBackend', message });
  }
}

function redirectedHosts(ingress: Ingress): ReadonlySet<string> {
  const lists = new Set(wantsRedirect(ingress) ? tlsEntries(ingress).map(({ hosts }) => hosts) : []);
  return new Set([...lists].flat());
}

function routeOf(ingress: Ingress, backend: IngressBackend, redirected: ReadonlySet<string>): IngressRoute {
  const { serviceName: name, servicePort: port } = backend;
  const { namespace = '' } = ingress.metadata;
  return { ingress, redirected, service: name && port ? { namespace, name, port } : undefined };
}

/** A tree of prefixes, one path element per level. */
interface PrefixNode {
  readonly below: Map<string, PrefixNode>;
  route?: IngressRoute;
}

const newNode = (): PrefixNode => ({ below: new Map() });

class HostRoutes {
  readonly #exact = new Map<string, IngressRoute>();
  readonly #root = newNode();
  /** The default backend of the oldest ingress that has one and names the host. */
  fallback: IngressRoute | undefined;

  /** Adds a route; returns the existing one if the path is already taken. */
  add({ path = '', pathType }: HTTPIngressPath, route: IngressRoute): IngressRoute | undefined {
    const canonical = canonicalPath(Buffer.from(path || '/', 'utf8').toString('latin1'));
    if (pathType === 'Exact') {
      const taken = this.#exact.get(canonical);
      if (!taken) this.#exact.set(canonical, route);
      return taken;
    }
    let node = this.#root;
    for (const element of elements(canonical.replace(/\/$/, '')))
      node = entryOf(node.below, element, newNode);
    const taken = node.route;
    node.route ??= route;
    return taken;
  }

  find(path: string): IngressRoute | undefined {
    const exact = this.#exact.get(path);
    if (exact) return exact;
    let node: PrefixNode | undefined = this.#root;
    let best = node.route;
    for (const element of elements(path)) {
      node = node.below.get(element);
      if (!node) return best;
      best = node.route ?? best;
    }
    return best;
  }
}

/** Yields the path's elements lazily: most lookups need only one or two. */
function* elements(path: string): Generator<string> {
  for (let from = 1; from <= path.length; ) {
    const slash = path.indexOf('/', from);
    const to = slash < 0 ? path.length : slash;
    yield path.slice(from, to);
    from = to + 1;
  }
}

/**
 * The path for comparison: dot segments resolved, as the backend will, and unnecessary percent-encoding
 * decoded. An encoded slash does not end an element. Each character is one byte.
 */
function canonicalPath(path: string): string {
  if (!/[%\x80-\xff]|\/\./.test(path)) return path;
  return resolveDots(encodeUnsafe(path)).split('/').map(decoded).join('/');
}

function decoded(element: string): string {
  try {
    return decodeURIComponent(element).replace(/[%/]/g, encodeURIComponent);
  } catch {
    return element;
  }
}
