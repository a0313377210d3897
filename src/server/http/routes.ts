/** Routes: what answers the requests for a resource, worked out when the table of routes is made. */
import { methodNotAllowed } from '../../api/errors.ts';
import type { RequestContext } from './context.ts';
import type { ResourceInfo } from './requestinfo.ts';

export type Handler = (context: RequestContext, info: ResourceInfo) => void | Promise<void>;

/** A handler for each HTTP method; others are refused. */
export type Methods = ReadonlyMap<string, Handler>;

/** What answers one path: by method, or whatever the method is. */
export type Route = Methods | Handler;

/** All paths of one resource in one version. */
export interface ResourceRoutes {
  /** Whether its objects live in namespaces. */
  readonly namespaced: boolean;
  /** A warning for every answer about the resource. */
  readonly deprecation: string | undefined;
  /** Answers everything but paths that begin with `watch/`; the routes below are for resources without it. */
  readonly all: Handler | undefined;
  /** undefined: there is no watch. */
  readonly watch: Handler | undefined;
  readonly collection: Route | undefined;
  readonly object: Route | undefined;
  /** Parts of an object by name, such as `status`. */
  readonly parts: ReadonlyMap<string, Route>;
  /** The parts that take an upgrade of the connection. */
  readonly upgradable: ReadonlySet<string>;
}

export function handlerOf(route: Route, method: string): Handler {
  if (typeof route === 'function') return route;
  const handler = route.get(method);
  if (!handler) throw methodNotAllowed();
  return handler;
}

/** Namespaced objects live in a namespace, others do not; a namespaced collection may span all namespaces. */
export function fitsScope(namespaced: boolean, { namespace, name }: ResourceInfo): boolean {
  if (!namespaced) return namespace === undefined;
  return namespace !== undefined || name === undefined;
}
