/**
 * Request info: what a URL asks for. Parsed once; routing, authorization, audit and metrics all read this.
 *
 *   /api/v1/…                         core group
 *   /apis/<group>/<version>/…         other groups
 *   …/watch/…                         the same collection or object, watched
 *   …/namespaces/{ns}/<resource>[/{name}[/{subresource}[/…]]]
 *   …/<resource>[/{name}[/{subresource}[/…]]]
 */
import { badRequest } from '../api/errors.ts';

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
}

const noTail: readonly string[] = [];

/** The only parts of a namespace object with a path of their own; other third segments are resources. */
const namespaceSubresources = new Set(['finalize', 'status']);

export function parseRequest(method: string, url: string): RequestInfo {
  const question = url.indexOf('?');
  let path = question < 0 ? url : url.slice(0, question);
  const queryText = question < 0 ? '' : url.slice(question + 1);
  if (path.includes('%')) path = decodePath(path);
  if (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1);
  return { method, path, queryText, resource: parseResource(path) };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path holds a malformed percent-encoding');
  }
}

function parseResource(path: string): ResourceInfo | undefined {
  const segments = path.split('/');
  if (segments[1] === 'api' && segments.length > 3) return parseSegments(segments[2]!, segments, 3);
  if (segments[1] === 'apis' && segments.length > 4)
    return parseSegments(`${segments[2]}/${segments[3]}`, segments, 4);
  return undefined;
}

function parseSegments(apiVersion: string, segments: string[], first: number): ResourceInfo | undefined {
  let at = first;
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
  const tail = segments.length > at + 3 ? segments.slice(at + 3) : noTail;
  return {
    apiVersion,
    resource,
    namespace,
    name: segments[at + 1],
    subresource: segments[at + 2],
    tail,
    watchPrefix,
  };
}
