/**
 * The table of routes: the handlers of each version and resource. Those of a kind are made with the first request for
 * it; from then on, finding a route is two map lookups.
 */

import type { Kind } from '../api/kind/kind.ts';
import type { KindTable } from '../api/kinds/kinds.ts';
import type { Aggregation } from '../extensions/aggregation/aggregation.ts';
import { answerComponentStatus, type Component } from './computed/component-status.ts';
import { answerMetrics, metricsResources, metricsVersion } from './computed/metrics-api.ts';
import { answerReview, formerReviews, reviewVersions } from './computed/reviews.ts';
import type { UsageReports } from './computed/usage-reports.ts';
import type { ComputedVersions } from './discovery/discovery.ts';
import type { Handler } from './http/context.ts';
import type { ResourceInfo } from './http/request-info.ts';
import type { ResourceRoutes } from './http/routes.ts';
import { kindRoutes, oldScaleRoutes, oldScaleVersion } from './kind-routes.ts';
import { createBinding } from './objects/binding.ts';
import type { Serving } from './objects/objects.ts';
import type { Watching } from './objects/watching.ts';
import type { Connecting } from './pods/connecting.ts';
import { withConnections } from './pods/pod-routes.ts';

/** Versions whose resources are not stored. */
export const computedVersions: ComputedVersions = new Map([
  ...reviewVersions,
  [metricsVersion, metricsResources],
]);

export const servedComputedVersions = (kinds: KindTable): ComputedVersions =>
  new Map(
    [...computedVersions, ...(kinds.minor ? formerReviews : [])].filter(([apiVersion]) =>
      kinds.serves(apiVersion),
    ),
  );

/** What the handlers need. */
export interface Resources {
  readonly serving: Serving;
  readonly watching: Watching;
  readonly connecting: Connecting;
  readonly components: readonly Component[];
  /** Resource usage of nodes and pods. */
  readonly usage: UsageReports;
  /** Versions that other servers serve. */
  readonly aggregation: Aggregation | undefined;
}

/** Returns the routes of a resource, made at the first call. */
type MadeRoutes = () => ResourceRoutes;

/** One version: a handler for all its paths, or routes by resource. */
type VersionRoutes = Handler | Map<string, MadeRoutes>;

export class RouteTable {
  readonly #versions = new Map<string, VersionRoutes>();
  /** All groups but the core, which has no name. */
  readonly #groups = new Set<string>();
  /** Groups with at least one built-in kind. */
  readonly #builtinGroups = new Set<string>();

  constructor(resources: Resources) {
    const { serving, watching, connecting, usage } = resources;
    const { kinds } = serving.registry;
    for (const kind of kinds.served())
      this.#add(
        kind,
        once(() => kindRoutes(serving, watching, kinds.shown(kind))),
      );
    this.#addCore(resources);
    const pods = kinds.resource('v1', 'pods');
    const routes = this.#stored('v1').get('pods');
    if (pods && routes)
      this.#add(
        pods,
        once(() => withConnections(connecting, pods, routes())),
      );
    if (kinds.serves(oldScaleVersion)) for (const kind of kinds) this.#addOldScale(serving, kind);
    for (const version of servedComputedVersions(kinds).keys())
      this.#addComputed(version, (context, info) =>
        version === metricsVersion
          ? answerMetrics(serving.registry, usage, context, info)
          : answerReview(serving, context, info),
      );
  }

  /** The handler of a whole version, or the routes of a resource; undefined when there is neither. */
  find({ apiVersion, resource }: ResourceInfo): Handler | ResourceRoutes | undefined {
    const version = this.#versions.get(apiVersion);
    return version instanceof Map ? version.get(resource)?.() : version;
  }

  /** Everything in the table; a version that one handler answers has no resources here. */
  *entries(): Iterable<{
    apiVersion: string;
    resource: string | undefined;
    routes: Handler | ResourceRoutes;
  }> {
    for (const [apiVersion, version] of this.#versions) {
      if (version instanceof Map)
        for (const [resource, routes] of version) yield { apiVersion, resource, routes: routes() };
      else yield { apiVersion, resource: undefined, routes: version };
    }
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** Whether all kinds of a group are custom. */
  isCustomGroup(group: string): boolean {
    return this.#groups.has(group) && !this.#builtinGroups.has(group);
  }

  #stored(apiVersion: string): Map<string, MadeRoutes> {
    let version = this.#versions.get(apiVersion);
    if (!(version instanceof Map)) {
      version = new Map();
      this.#versions.set(apiVersion, version);
    }
    return version;
  }

  #add({ apiVersion, group, resource, custom }: Kind, routes: MadeRoutes): void {
    if (group) this.#groups.add(group);
    if (!custom) this.#builtinGroups.add(group);
    this.#stored(apiVersion).set(resource, routes);
  }

  /** Core resources that are not stored kinds. */
  #addCore({ serving, components }: Resources): void {
    if (!serving.registry.kinds.serves('v1')) return;
    const core = this.#stored('v1');
    core.set(
      'bindings',
      answeredBy((context, info) => createBinding(serving, context, info)),
    );
    core.set(
      'componentstatuses',
      answeredBy((context, info) => answerComponentStatus(context, info, components, serving.registry)),
    );
  }

  #addOldScale(serving: Serving, kind: Kind): void {
    const old = this.#versions.get(oldScaleVersion);
    if (kind.apiVersion !== 'v1' || !(old instanceof Map)) return;
    if (kind.subresources.some(({ name }) => name === 'scale')) {
      const beside = old.get(kind.resource);
      old.set(
        kind.resource,
        once(() => oldScaleRoutes(serving, kind, beside?.())),
      );
    }
  }

  #addComputed(apiVersion: string, handler: Handler): void {
    this.#groups.add(apiVersion.split('/')[0]!);
    this.#builtinGroups.add(apiVersion.split('/')[0]!);
    this.#versions.set(apiVersion, handler);
  }
}

/** Keeps what the first call returns. */
function once(make: MadeRoutes): MadeRoutes {
  let made: ResourceRoutes | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** All paths below the resource go to one handler. */
function answeredBy(all: Handler): MadeRoutes {
  const routes: ResourceRoutes = {
    namespaced: false,
    deprecation: undefined,
    all,
    watch: undefined,
    collection: undefined,
    object: undefined,
    parts: new Map(),
    upgradable: new Set(),
  };
  return () => routes;
}
