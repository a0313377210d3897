/** Routes: the handlers of a resource, chosen when the table of routes is built. */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Handler } from './context.ts';
import type { ResourceInfo } from './request-info.ts';

/** A handler for each HTTP method; other methods get 405. */
export type Methods = ReadonlyMap<string, Handler>;

/** The handlers of one path: by method, or one for all methods. */
export type Route = Methods | Handler;

/** All paths of one resource in one version. */
export interface ResourceRoutes {
  /** Whether its objects live in namespaces. */
  readonly namespaced: boolean;
  /** The custom kind, if it is one: custom kinds word their refusals differently. */
  readonly custom?: Kind | undefined;
  /** A warning header for every answer about the resource. */
  readonly deprecation: string | undefined;
  /** Handles all paths but those that begin with `watch/`; the routes below are for resources without it. */
  readonly all: Handler | undefined;
  /** undefined: the resource cannot be watched. */
  readonly watch: Handler | undefined;
  readonly collection: Route | undefined;
  readonly object: Route | undefined;
  /** Subresources by name, such as `status`. */
  readonly parts: ReadonlyMap<string, Route>;
  /** Subresources that accept an upgrade. */
  readonly upgradable: ReadonlySet<string>;
}

export function handlerOf(route: Route, method: string): Handler {
  if (typeof route === 'function') return route;
  const handler = route.get(method);
  if (!handler) throw methodNotAllowed();
  return handler;
}

/** Whether the namespace in the path fits the resource; a namespaced collection may span all namespaces. */
export function fitsScope(namespaced: boolean, { namespace, name }: ResourceInfo): boolean {
  if (!namespaced) return namespace === undefined;
  return namespace !== undefined || name === undefined;
}
