/** The API server: what serves requests, put together, and the doors they come in by. */
import type { Registry } from '../../registry/registry.ts';
import type { WatchDefault } from '../../registry/watch.ts';
import type { NodeWay } from '../../streams/nodeway.ts';
import type { Component } from '../computed/componentstatus.ts';
import type { UsageReports } from '../computed/usagereports.ts';
import { Discovery } from '../discovery/discovery.ts';
import type { Door } from '../doors/door.ts';
import type { Watching } from '../objects/watching.ts';
import type { AuditLog } from '../observe/auditlog.ts';
import type { HealthCheck } from '../observe/health.ts';
import { Metrics } from '../observe/metrics.ts';
import { RequestMetrics } from '../observe/requestmetrics.ts';
import type { StoreMetrics } from '../observe/storemetrics.ts';
import { WatchMetrics } from '../observe/watchmetrics.ts';
import { OpenConnections } from '../pods/connecting.ts';
import { defaultAddressTypes } from '../pods/nodelocation.ts';
import { Chain } from './chain.ts';
import type { LimitKeeper } from './limits.ts';
import { Pages } from './pages.ts';
import { Router } from './router.ts';
import { computedVersions, type Resources } from './routetable.ts';
import type { RequestObserver } from './steps/step.ts';
import { Traffic } from './traffic.ts';

/** When closing, requests under way get this long. */
const drainMaxMs = 10_000;

export interface ServerOptions {
  /** Where requests come in. */
  readonly doors: readonly Door[];
  readonly createStatus: 200 | 201;
  readonly watchDefault: WatchDefault;
  readonly keeper: LimitKeeper;
  readonly components: readonly Component[];
  /** What the health of this process is made of. */
  readonly health: readonly HealthCheck[];
  /** How the agents of nodes are reached. */
  readonly nodes: NodeWay;
  /** What nodes and pods use. */
  readonly usage: UsageReports;
  /** Types of node addresses in the order they are tried. Default: Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP. */
  readonly nodeAddressTypes?: readonly string[];
  /** Figures of the store, to be shown with those of the server. */
  readonly storeMetrics?: StoreMetrics;
  /** Told of every request. The server does not close it. */
  readonly audit?: AuditLog;
  /** Told of every request that is over. */
  readonly observer?: RequestObserver;
  /** Told of failures that are the server's own. */
  readonly report: (error: Error) => void;
}

export class ApiServer {
  readonly #doors: readonly Door[];
  readonly #chain: Chain;
  readonly #router: Router;
  readonly #watching: Watching;
  readonly #metrics: Metrics;
  readonly #connections = new OpenConnections();
  #closing = false;

  constructor(registry: Registry, options: ServerOptions) {
    const { keeper, audit, report } = options;
    const watches = new WatchMetrics();
    const traffic = new Traffic(keeper);
    const requests = new RequestMetrics((...of) => this.#router.serves(...of));
    const discovery = new Discovery(registry.kinds, computedVersions);
    const pages = new Pages(registry, discovery, options.health, () => this.#metrics.text());
    this.#doors = options.doors;
    this.#watching = {
      registry,
      watchDefault: options.watchDefault,
      streams: new Set(),
      keeper,
      metrics: watches,
      report,
    };
    this.#router = new Router(this.#resources(registry, options), discovery, pages);
    this.#metrics = new Metrics({
      registry,
      keeper,
      traffic,
      requests,
      watches,
      store: options.storeMetrics,
      audit,
    });
    this.#chain = new Chain({
      keeper,
      traffic,
      requests,
      router: this.#router,
      audit,
      observer: options.observer,
      report,
      closing: false,
    });
  }

  #resources(registry: Registry, options: ServerOptions): Resources {
    const { keeper, createStatus, components, usage, nodes } = options;
    return {
      serving: { registry, keeper, createStatus },
      watching: this.#watching,
      connecting: {
        registry,
        nodes,
        addressTypes: options.nodeAddressTypes ?? defaultAddressTypes,
        open: this.#connections,
      },
      components,
      usage,
    };
  }

  /** Opens all doors, in their order. */
  async listen(): Promise<void> {
    for (const door of this.#doors) await door.listen(this.#chain);
  }

  /** Where the first door is. */
  get url(): string {
    return this.#doors[0]!.url;
  }

  /** Takes no more requests, ends watches, cuts connections, lets the rest be answered. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#chain.close();
    for (const door of this.#doors) door.shut();
    for (const stream of this.#watching.streams) stream.end();
    this.#connections.cutAll();
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, drainMaxMs).unref());
    await Promise.race([this.#chain.rest(), deadline]);
    await Promise.all(this.#doors.map((door) => door.close()));
    this.#metrics.close();
  }
}
