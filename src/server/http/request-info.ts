/**
 * Request info: what a method and a URL ask for. Parsed once and cached per URL; the express lane, authorization,
 * limits, routing, metrics and audit all read it, and none of them looks at the URL again.
 *
 *   /api/v1/…                         core group
 *   /apis/<group>/<version>/…         other groups
 *   …/watch/…                         the same collection or object, watched
 *   …/namespaces/{ns}/<resource>[/{name}[/{subresource}[/…]]]
 *   …/<resource>[/{name}[/{subresource}[/…]]]
 *   /wherry/watches                   a connection of watches
 *   …/proxy/…                         pods, services and nodes: the same as …/{name}/proxy, as old clients write it
 */

import { badRequest } from '../../api/errors/errors.ts';
import type { Action } from '../../api/kind/access.ts';
import { optimized } from '../../switches.ts';
import { Query } from '../wire/query.ts';
import { actionOf } from './action.ts';

/** Long-running requests: a watch, or a connection to a pod, service or node, or of several watches. */
export type Lasting = 'watch' | 'connection';

/** The path of connections of watches (`objects/watch-connection.ts`). */
export const watchesPath = '/wherry/watches';
/** The path of the range of history (`computed/history-range.ts`). */
export const historyPath = '/wherry/history';
/** What has changed (`past/changes-page.ts`). */
export const changesPath = '/wherry/changes';
/** Snapshots, and below it each of them (`cluster/store/snapshot-pages.ts`). */
export const snapshotsPath = '/wherry/snapshots';
/** Objects of another cluster, taken in (`cluster/store/import-pages.ts`). */
export const importPath = '/wherry/import';
/** What is not well (`problems/problems-page.ts`). */
export const problemsPath = '/wherry/problems';
/** Objects by what is typed (`search/search-page.ts`). */
export const searchPath = '/wherry/search';
/** What nodes, pods and requests used and took, for as long as history (`samples/samples-page.ts`). */
export const samplesPath = '/wherry/samples';
/** Ports of this machine that lead to pods (`forwards/forwards-page.ts`). */
export const forwardsPath = '/wherry/port-forwards';
/** How long the phases of requests took (`observe/request-traces.ts`). */
export const tracePath = '/wherry/trace';

export class RequestInfo {
  /** Whether and how the request is long-running; undefined for ordinary requests. */
  readonly lasting: Lasting | undefined;
  /** The Kubernetes verb; for non-resource paths the HTTP method in lower case. */
  readonly verb: string;
  /** Whether it counts as a read request; others count as writes. */
  readonly readOnly: boolean;
  /** Whether the request timeout applies. Not to reads of one object, which are answered from memory. */
  readonly timed: boolean;
  /** Set for paths of the dashboard (`dashboard/`): its own ones, and `/`, which API clients ask for, too. */
  readonly page: 'ui' | 'root' | undefined;
  #query: Query | undefined;
  #action: Action | undefined;

  constructor(
    readonly method: string,
    /** Decoded, without the query; a trailing slash is dropped. */
    readonly path: string,
    /** The text after `?`, or ''. */
    readonly queryText: string,
    /** undefined for paths that are not about resources. */
    readonly resource: ResourceInfo | undefined,
    /** Decoded, without the query, with a slash at its end if it was sent with one. */
    readonly sentPath = path,
  ) {
    this.readOnly = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    this.timed =
      method !== 'GET' || queryText !== '' || (resource !== undefined && resource.name === undefined);
    this.page = resource ? undefined : pageOf(method, path);
    this.lasting = resource ? lastingOf(this, resource) : path === watchesPath ? 'connection' : undefined;
    this.verb = verbOf(this, resource);
  }

  /** The query parameters, parsed on demand. Throws when there are too many. */
  get query(): Query {
    this.#query ??= new Query(this.queryText);
    return this.#query;
  }

  /** What authorizers decide about, made when first asked for. */
  get action(): Action {
    this.#action ??= actionOf(this);
    return this.#action;
  }

  /** Whether the query may contain a parameter; a cheap test without parsing. Names may be percent-encoded. */
  mayHave(name: string): boolean {
    const { queryText } = this;
    return queryText !== '' && (queryText.includes(name) || queryText.includes('%'));
  }
}

export interface ResourceInfo {
  /** `v1`, `extensions/v1beta1`. */
  readonly apiVersion: string;
  /** `extensions`; '' for the core group. */
  readonly group: string;
  /** `v1beta1`. */
  readonly version: string;
  readonly resource: string;
  /** undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  /** undefined: the collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** The first path segments behind the subresource. */
  readonly tail: readonly string[];
  /** Whether the path began with `watch/`. */
  readonly watchPrefix: boolean;
  /** Set for proxied requests to a pod, service or node. */
  readonly proxy: ProxyInfo | undefined;
}

/** Where in a path the API's part ends and the proxied part begins. Both are as sent: still encoded. */
export interface ProxyInfo {
  /** `connect`: the name is followed by `/proxy`. `prefix`: the path began with `proxy/`. */
  readonly form: 'connect' | 'prefix';
  /** The path up to and including `/proxy` or, in the prefix form, the name. */
  readonly prefix: string;
  /** The path behind the next slash; undefined when there is no slash. */
  readonly tail: string | undefined;
}

const noTail: readonly string[] = Object.freeze([]);

/** Segments that are looked at. No path of the API has as many, and a path of a mebibyte can have a million. */
const segmentsMax = 64;

/** Subresources of pods, services and nodes that are connections. */
const connections = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

function lastingOf(info: RequestInfo, resource: ResourceInfo): Lasting | undefined {
  if (connections.has(resource.subresource ?? '')) return 'connection';
  if (info.method !== 'GET') return undefined;
  if (resource.watchPrefix) return resource.subresource === undefined ? 'watch' : undefined;
  // Only collections are watched by a parameter: for an object it is ignored, as in Kubernetes.
  if (resource.name !== undefined || info.queryText === '') return undefined;
  return hasWatchFlag(info) ? 'watch' : undefined;
}

function pageOf(method: string, path: string): RequestInfo['page'] {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  if (path === '/ui' || path.startsWith('/ui/')) return 'ui';
  return path === '/' ? 'root' : undefined;
}

function hasWatchFlag(info: RequestInfo): boolean {
  try {
    return info.query.flag('watch');
  } catch {
    // Too many parameters. The handler parses them again and refuses the request.
    return false;
  }
}

function verbOf({ method, lasting }: RequestInfo, resource: ResourceInfo | undefined): string {
  if (!resource) return method.toLowerCase();
  if (lasting === 'watch') return 'watch';
  if (resource.proxy?.form === 'prefix') return 'proxy';
  switch (method) {
    case 'GET':
    case 'HEAD':
      return resource.name === undefined ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'DELETE':
      return resource.name === undefined ? 'deletecollection' : 'delete';
    default:
      return method.toLowerCase();
  }
}

export type ProxiedInfo = ResourceInfo & { readonly proxy: ProxyInfo };

export const isProxy = (info: ResourceInfo): info is ProxiedInfo => info.proxy !== undefined;

/** The info of a request with an invalid URL. */
export const unreadInfo = (method: string): RequestInfo => new RequestInfo(method, '', '', undefined);

/** Subresources of a namespace; other third segments are resources in the namespace. */
const namespaceSubresources = new Set(['finalize', 'status']);

/** Resources that can be proxied to, and whether they are namespaced. */
const proxied: ReadonlyMap<string, boolean> = new Map([
  ['pods', true],
  ['services', true],
  ['nodes', false],
]);

/** Cache of parsed URLs, per method: number of entries, and longest URL, since clients repeat the same requests. */
const knownMax = 1_000;
const knownCharsMax = 200;
const known = new Map<string, Map<string, RequestInfo>>();

/**
 * Parses method and URL. Requests for the same URL share the cached result, which is frozen. Together with counted
 * request ids that made reads of one object 13 % faster.
 */
export function parseRequest(method: string, url: string): RequestInfo {
  const ofMethod = known.get(method);
  const seen = ofMethod?.get(url);
  if (seen) return seen;
  const info = parse(method, url);
  if (url.length > knownCharsMax || !optimized) return info;
  freeze(info);
  if (!ofMethod || ofMethod.size >= knownMax) known.set(method, new Map([[url, info]]));
  else ofMethod.set(url, info);
  return info;
}

/** Freezes the known fields one by one: walking over all values takes five times as long, for every new URL. */
function freeze(info: RequestInfo): void {
  const { resource } = info;
  Object.freeze(info);
  if (!resource) return;
  Object.freeze(resource);
  Object.freeze(resource.tail);
  Object.freeze(resource.proxy);
}

/** Whether a request is not long-running. A request with an invalid URL is not. */
export function isBrief(method: string, url: string): boolean {
  try {
    return parseRequest(method, url).lasting === undefined;
  } catch {
    return true;
  }
}

function parse(method: string, url: string): RequestInfo {
  const question = url.indexOf('?');
  const sent = question < 0 ? url : url.slice(0, question);
  const queryText = question < 0 ? '' : url.slice(question + 1);
  let path = sent;
  let exact = true;
  if (path.includes('%')) ({ path, exact } = decodePath(path));
  const sentPath = path;
  if (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1);
  const resource = parseResource(path, sent);
  if (!exact && !resource?.proxy) throw malformed();
  return new RequestInfo(method, path, queryText, resource, sentPath);
}

/** The part behind a proxy may be invalid UTF-8; it is forwarded as sent, so its decoded form need not be exact. */
function decodePath(path: string): { path: string; exact: boolean } {
  if (/%(?![0-9a-f]{2})/i.test(path)) throw malformed();
  try {
    return { path: decodeURIComponent(path), exact: true };
  } catch {
    const text = path.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
    );
    return { path: text, exact: false };
  }
}

const malformed = () => badRequest('the path holds a malformed percent-encoding');

function parseResource(path: string, sent: string): ResourceInfo | undefined {
  if (!path.startsWith('/api')) return undefined;
  const segments = path.split('/', segmentsMax);
  if (segments[1] === 'api' && segments.length > 3)
    return parseSegments({ apiVersion: segments[2]!, group: '', version: segments[2]! }, segments, 3, sent);
  if (segments[1] !== 'apis' || segments.length <= 4) return undefined;
  const [, , group, version] = segments as [string, string, string, string];
  return parseSegments({ apiVersion: `${group}/${version}`, group, version }, segments, 4, sent);
}

function parseSegments(
  { apiVersion, group, version }: Pick<ResourceInfo, 'apiVersion' | 'group' | 'version'>,
  segments: string[],
  first: number,
  sent: string,
): ResourceInfo | undefined {
  let at = first;
  if (apiVersion === 'v1' && segments[at] === 'proxy') {
    const info = parseProxyPrefix(segments, sent);
    if (info) return info;
  }
  const watchPrefix = segments[at] === 'watch';
  if (watchPrefix) at++;
  let namespace: string | undefined;
  const third = segments[at + 2];
  if (
    segments[at] === 'namespaces' &&
    third !== undefined &&
    !(segments.length === at + 3 && namespaceSubresources.has(third))
  ) {
    // An empty namespace means all namespaces.
    namespace = segments[at + 1] || undefined;
    at += 2;
  }
  const resource = segments[at];
  if (!resource) return undefined;
  const subresource = segments[at + 2];
  const isProxy =
    subresource === 'proxy' &&
    apiVersion === 'v1' &&
    !watchPrefix &&
    proxied.get(resource) === (namespace !== undefined);
  return {
    apiVersion,
    group,
    version,
    resource,
    namespace,
    name: segments[at + 1],
    subresource,
    tail: segments.length > at + 3 ? segments.slice(at + 3) : noTail,
    watchPrefix,
    proxy: isProxy ? proxyInfo('connect', sent, at + 2) : undefined,
  };
}

/** `/api/v1/proxy/namespaces/{ns}/pods/{name}[/…]`, `/api/v1/proxy/nodes/{name}[/…]`; undefined for other paths. */
function parseProxyPrefix(segments: string[], sent: string): ResourceInfo | undefined {
  const namespaced = segments[4] === 'namespaces';
  const at = namespaced ? 6 : 4;
  const namespace = namespaced ? segments[5] : undefined;
  const resource = segments[at] ?? '';
  const name = segments[at + 1];
  if (proxied.get(resource) !== namespaced || namespace === '' || name === undefined) return undefined;
  return {
    apiVersion: 'v1',
    group: '',
    version: 'v1',
    resource,
    namespace,
    name,
    // A subresource, so that code that does not know this form does not take it for the object itself.
    subresource: 'proxy',
    tail: segments.length > at + 2 ? segments.slice(at + 2) : noTail,
    watchPrefix: false,
    proxy: proxyInfo('prefix', sent, at + 1),
  };
}

/**
 * Finds the boundary in the encoded path. An encoded slash was counted as a separator when decoding, and is here,
 * too.
 */
function proxyInfo(form: ProxyInfo['form'], sent: string, slashes: number): ProxyInfo {
  const slash = /\/|%2f/gi;
  let found = slash.exec(sent);
  for (let count = 0; found && count < slashes; count++) found = slash.exec(sent);
  if (!found) return { form, prefix: sent, tail: undefined };
  return { form, prefix: sent.slice(0, found.index), tail: sent.slice(found.index + found[0].length) };
}
