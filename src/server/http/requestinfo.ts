/**
 * Request info: what a URL asks for. Parsed once; routing, authorization, audit and metrics all read this.
 *
 *   /api/v1/…                         core group
 *   /apis/<group>/<version>/…         other groups
 *   …/watch/…                         the same collection or object, watched
 *   …/namespaces/{ns}/<resource>[/{name}[/{subresource}[/…]]]
 *   …/<resource>[/{name}[/{subresource}[/…]]]
 *   …/proxy/…                         pods, services and nodes: the same as …/{name}/proxy, as old clients write it
 */
import { badRequest } from '../../api/errors.ts';
import { freezeJson } from '../../api/object.ts';
import { optimized } from '../../switches.ts';

export interface RequestInfo {
  readonly method: string;
  /** Path as it was sent, without the query; a trailing slash is dropped. */
  readonly path: string;
  /** The text after `?`; '' when there is none. */
  readonly queryText: string;
  /** undefined for paths that are not about resources. */
  readonly resource: ResourceInfo | undefined;
}

export interface ResourceInfo {
  /** `v1`, `extensions/v1beta1`. */
  readonly apiVersion: string;
  readonly resource: string;
  /** undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  /** undefined: the collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** What follows the subresource, for proxies. */
  readonly tail: readonly string[];
  /** The path began with `watch/`. */
  readonly watchPrefix: boolean;
  /** Set when what is asked for is behind a pod, service or node. */
  readonly proxy: ProxyInfo | undefined;
}

/** Where in a path the API ends and what is proxied begins. Both parts are as they were sent: still encoded. */
export interface ProxyInfo {
  /** `connect`: the name is followed by `/proxy`. `prefix`: the path began with `proxy/`. */
  readonly form: 'connect' | 'prefix';
  /** Up to and including `/proxy` or, in the prefix form, the name. */
  readonly prefix: string;
  /** What follows behind the next slash; undefined when there is no slash. */
  readonly tail: string | undefined;
}

const noTail: readonly string[] = [];

/** Connections to pods and nodes last as long as both sides like; the time limit of requests is not for them. */
const longRunning = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

export const isLongRunning = (info: ResourceInfo | undefined): boolean =>
  longRunning.has(info?.subresource ?? '');

const connections = new Set(['attach', 'exec', 'log', 'portforward']);

/** Whether it asks for a connection into a pod. */
export const isConnection = (info: ResourceInfo): boolean =>
  info.apiVersion === 'v1' &&
  info.resource === 'pods' &&
  info.namespace !== undefined &&
  connections.has(info.subresource ?? '') &&
  info.tail.length === 0;

export type ProxiedInfo = ResourceInfo & { readonly proxy: NonNullable<ResourceInfo['proxy']> };

export const isProxy = (info: ResourceInfo | undefined): info is ProxiedInfo => info?.proxy !== undefined;

/** Those of them that Kubernetes calls connects; a log is read. */
export const isConnect = (info: ResourceInfo | undefined): boolean =>
  info?.subresource !== undefined && info.subresource !== 'log' && longRunning.has(info.subresource);

/** What is being done, in Kubernetes' words; on paths that are not about resources HTTP's own, in small letters. */
export function verbOf({ method, resource }: RequestInfo, watching: boolean): string {
  if (!resource) return method.toLowerCase();
  if (watching) return 'watch';
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

/** The only parts of a namespace object with a path of their own; other third segments are resources. */
const namespaceSubresources = new Set(['finalize', 'status']);

/** What can be proxied, and whether it is in a namespace. */
const proxied: ReadonlyMap<string, boolean> = new Map([
  ['pods', true],
  ['services', true],
  ['nodes', false],
]);

/** Clients ask for the same over and over: what their URLs mean is kept, for so many and up to so long ones. */
const knownMax = 1_000;
const knownCharsMax = 200;
const known = new Map<string, Map<string, RequestInfo>>();

/**
 * What a URL asks for. Requests for the same URL share the answer, which is frozen. Together with counted request ids that
 * made reads of one object 13 % faster.
 */
export function parseRequest(method: string, url: string): RequestInfo {
  const ofMethod = known.get(method);
  const seen = ofMethod?.get(url);
  if (seen) return seen;
  const info = parse(method, url);
  if (url.length > knownCharsMax || !optimized) return info;
  freezeJson(info);
  if (!ofMethod || ofMethod.size >= knownMax) known.set(method, new Map([[url, info]]));
  else ofMethod.set(url, info);
  return info;
}

function parse(method: string, url: string): RequestInfo {
  const question = url.indexOf('?');
  const sent = question < 0 ? url : url.slice(0, question);
  const queryText = question < 0 ? '' : url.slice(question + 1);
  let path = sent;
  let exact = true;
  if (path.includes('%')) ({ path, exact } = decodePath(path));
  if (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1);
  const resource = parseResource(path, sent);
  if (!exact && !resource?.proxy) throw malformed();
  return { method, path, queryText, resource };
}

/** Behind a proxy there may be bytes that are no text; they are not read here, so they need not be exact. */
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
  const segments = path.split('/');
  if (segments[1] === 'api' && segments.length > 3) return parseSegments(segments[2]!, segments, 3, sent);
  if (segments[1] === 'apis' && segments.length > 4)
    return parseSegments(`${segments[2]}/${segments[3]}`, segments, 4, sent);
  return undefined;
}

function parseSegments(
  apiVersion: string,
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
    // An empty namespace means all of them.
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
    resource,
    namespace,
    name: segments[at + 1],
    subresource,
    tail: segments.length > at + 3 ? segments.slice(at + 3) : noTail,
    watchPrefix,
    proxy: isProxy ? proxyInfo('connect', sent, at + 2) : undefined,
  };
}

/** `/api/v1/proxy/namespaces/{ns}/pods/{name}[/…]`, `/api/v1/proxy/nodes/{name}[/…]`; undefined when it is neither. */
function parseProxyPrefix(segments: string[], sent: string): ResourceInfo | undefined {
  const namespaced = segments[4] === 'namespaces';
  const at = namespaced ? 6 : 4;
  const namespace = namespaced ? segments[5] : undefined;
  const resource = segments[at] ?? '';
  const name = segments[at + 1];
  if (proxied.get(resource) !== namespaced || namespace === '' || name === undefined) return undefined;
  return {
    apiVersion: 'v1',
    resource,
    namespace,
    name,
    // So that whoever does not know this form cannot take it for the object itself.
    subresource: 'proxy',
    tail: segments.length > at + 2 ? segments.slice(at + 2) : noTail,
    watchPrefix: false,
    proxy: proxyInfo('prefix', sent, at + 1),
  };
}

/** Finds the place in the path as it was sent. An encoded slash has counted as one until here, so it does here too. */
function proxyInfo(form: ProxyInfo['form'], sent: string, slashes: number): ProxyInfo {
  const slash = /\/|%2f/gi;
  let found = slash.exec(sent);
  for (let count = 0; found && count < slashes; count++) found = slash.exec(sent);
  if (!found) return { form, prefix: sent, tail: undefined };
  return { form, prefix: sent.slice(0, found.index), tail: sent.slice(found.index + found[0].length) };
}
