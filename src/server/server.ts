/** The API server: puts chain, router, handlers and doors together. */

import type { Duplex } from 'node:stream';
import type { Authentication } from '../access/authentication/authentication.ts';
import { Impersonation } from '../access/impersonation.ts';
import type { Tokens } from '../access/tokens/tokens.ts';
import type { Aggregation } from '../extensions/aggregation/aggregation.ts';
import type { Compatibility } from '../registry/compatibility.ts';
import type { WatchDefault } from '../registry/verbs/watch.ts';
import type { Writing } from '../registry/writing.ts';
import type { NodeConnector } from '../streams/dial/node-connector.ts';
import { Chain } from './chain/chain.ts';
import type { RequestObserver, Step } from './chain/step.ts';
import type { Component } from './computed/component-status.ts';
import type { UsageReports } from './computed/usage-reports.ts';
import type { Dashboard } from './dashboard/dashboard.ts';
import { Discovery } from './discovery/discovery.ts';
import type { ReportedVersion } from './discovery/version.ts';
import type { RequestContext } from './http/context.ts';
import type { Door } from './http/door.ts';
import type { LimitKeeper } from './http/limits.ts';
import { OwnDoors } from './http/own-doors.ts';
import { type ServingRuleOptions, withServingRules } from './http/serving-rules.ts';
import { Traffic } from './http/traffic.ts';
import { CredentialWatch } from './objects/credential-watch.ts';
import type { WatchStream } from './objects/watch-stream.ts';
import type { Watching } from './objects/watching.ts';
import type { AuditLog } from './observe/audit-log.ts';
import type { Exposition } from './observe/exposition.ts';
import type { HealthCheck } from './observe/health.ts';
import { Metrics } from './observe/metrics.ts';
import { RequestMetrics } from './observe/request-metrics.ts';
import type { RequestTraces } from './observe/request-traces.ts';
import type { StoreMetrics } from './observe/store-metrics.ts';
import { WatchMetrics } from './observe/watch-metrics.ts';
import { type PageInstruments, Pages } from './pages.ts';
import { type Connecting, OpenConnections } from './pods/connecting.ts';
import type { KeptLogSource } from './pods/kept-log.ts';
import { defaultAddressTypes } from './pods/node-location.ts';
import type { ServiceDialing } from './pods/service-dialing.ts';
import { type Resources, servedComputedVersions } from './route-table.ts';
import { Router } from './router.ts';
import { Sampling } from './samples/sampling.ts';

/** On close, requests under way get this long. */
const drainMaxMs = 10_000;

export interface ServerOptions {
  readonly doors: readonly Door[];
  readonly createStatus: 200 | 201;
  readonly watchDefault: WatchDefault;
  readonly compatibility: Compatibility;
  readonly keeper: LimitKeeper;
  readonly components: readonly Component[];
  /** The health checks of this process. */
  readonly health: readonly HealthCheck[];
  /** How the server connects to the agents of nodes. */
  readonly nodes: NodeConnector;
  /** Resource usage of nodes and pods. */
  readonly usage: UsageReports;
  /**
   * Types of node addresses, in order of preference. Default: Hostname, InternalDNS, InternalIP, ExternalDNS,
   * ExternalIP.
   */
  readonly nodeAddressTypes?: readonly string[] | undefined;
  /** Rules for all requests, and what `/version` says. */
  readonly settings?: ServingRuleOptions &
    ReportedVersion & { readonly watchSecondsMin?: number; readonly watchLists?: boolean };
  /** Versions that other servers serve; absent when all versions are served here. The server does not close it. */
  readonly aggregation?: Aggregation;
  /** Metrics of the store, shown with those of the server. */
  readonly storeMetrics?: StoreMetrics;
  /** Tokens of service accounts. */
  readonly tokens: Tokens;
  /** Authenticates the tokens in token reviews. The server does not close it. */
  readonly authentication: Pick<Authentication, 'reviewToken' | 'isIdentityHeader'>;
  /** The audit log; gets every request. The server does not close it. */
  readonly audit?: AuditLog;
  /** Called for every request that is over. */
  readonly observer?: RequestObserver;
  /** Keeps how long the phases of requests took; absent without `--trace-requests`. */
  readonly traces?: RequestTraces | undefined;
  /** The dashboard; absent when it is not served. */
  readonly dashboard?: Dashboard;
  /** How long samples of usage and requests are kept, for charts; absent: no samples are taken. */
  readonly samplesAgeMs?: number | undefined;
  /** Answers paths of snapshots (`/wherry/snapshots`); false for those that are unknown. */
  readonly snapshots?: (context: RequestContext) => Promise<boolean>;
  /** Takes in objects of another cluster (`/wherry/import`); absent where nothing can be written. */
  readonly imports?: ((context: RequestContext) => Promise<void>) | undefined;
  /** Logs of a copy, whose containers run elsewhere. */
  readonly keptLogs?: KeptLogSource | undefined;
  /** What a test kit looks at and changes; absent in ordinary servers. */
  readonly instruments?: ServerInstruments;
  /** Called for internal errors of the server. */
  readonly report: (error: Error) => void;
}

export interface ServerInstruments extends PageInstruments {
  /** A step that runs for every request before it is routed. */
  readonly step: Step;
  /** Called with every watch that begins. */
  readonly watched: (context: RequestContext, stream: WatchStream) => void;
  /** Writes metrics of its own. */
  readonly metrics?: ((out: Exposition) => void) | undefined;
}

export class ApiServer {
  readonly #doors: readonly Door[];
  readonly #rules: ServingRuleOptions;
  readonly #chain: Chain;
  readonly #router: Router;
  readonly #watching: Watching;
  readonly #metrics: Metrics;
  readonly #connections = new OpenConnections();
  readonly #connecting: Connecting;
  /** Loaded at the first connection, with all code for connections. */
  #dialing: Promise<ServiceDialing> | undefined;
  /** Absent when no samples are taken. */
  readonly #sampling: Sampling | undefined;
  #closing = false;

  constructor(writing: Writing, options: ServerOptions) {
    const { registry } = writing;
    const { keeper, audit, report } = options;
    const watches = new WatchMetrics();
    const traffic = new Traffic(keeper);
    const requests = new RequestMetrics((...of) => this.#router.serves(...of));
    const computed = servedComputedVersions(registry.kinds);
    const discovery = new Discovery(registry.kinds, computed, options.aggregation);
    const { dashboard, instruments, traces, usage, samplesAgeMs: ageMaxMs } = options;
    this.#sampling = ageMaxMs ? new Sampling({ registry, usage, requests, ageMaxMs }) : undefined;
    const pages = new Pages(registry, discovery, {
      ...options,
      rights: writing.authorizer,
      connecting: () => this.#connecting,
      metrics: () => this.#metrics.text(),
      sampling: this.#sampling,
      version: options.settings,
    });
    this.#doors = options.doors;
    this.#rules = options.settings ?? {};
    this.#watching = {
      registry,
      watchDefault: options.watchDefault,
      compatibility: options.compatibility,
      streams: new Set(),
      credentials: new CredentialWatch(),
      begin: (...request) => this.#chain.request(...request),
      keeper,
      metrics: watches,
      watched: options.instruments?.watched,
      secondsMin: options.settings?.watchSecondsMin,
      watchLists: options.settings?.watchLists,
      report,
    };
    this.#connecting = {
      registry,
      writing,
      nodes: options.nodes,
      addressTypes: options.nodeAddressTypes ?? defaultAddressTypes,
      open: this.#connections,
      ownDoors: new OwnDoors(options.doors, registry.view),
      keptLogs: options.keptLogs,
    };
    this.#router = new Router(this.#resources(writing, options, traffic), discovery, pages);
    this.#metrics = new Metrics({
      registry,
      keeper,
      traffic,
      requests,
      watches,
      store: options.storeMetrics,
      audit,
      flows: options.doors.find(({ fairness }) => fairness)?.fairness,
      further: instruments?.metrics,
    });
    this.#chain = new Chain({
      keeper,
      traffic,
      requests,
      router: this.#router,
      audit,
      impersonation: new Impersonation(),
      rights: writing,
      prefetchRevision: registry.view.prefetchRevision,
      dashboard,
      isIdentityHeader: (name) => options.authentication.isIdentityHeader(name),
      observer: options.observer,
      traces,
      instrument: instruments?.step,
      report,
      closing: false,
    });
  }

  #resources(writing: Writing, options: ServerOptions, traffic: Traffic): Resources {
    const { keeper, createStatus, compatibility, components, usage, authentication } = options;
    return {
      serving: {
        registry: writing.registry,
        writing,
        keeper,
        traffic,
        createStatus,
        compatibility,
        tokens: options.tokens,
        reviewToken: (...asked) => authentication.reviewToken(...asked),
      },
      watching: this.#watching,
      connecting: this.#connecting,
      components,
      usage,
      aggregation: options.aggregation,
    };
  }

  /** Opens all doors, in order. */
  async listen(): Promise<void> {
    const reception = withServingRules(this.#chain, this.#rules, Math.random);
    for (const door of this.#doors) await door.listen(reception);
    this.#sampling?.begin();
  }

  /** Opens a connection from the server itself to a port of a service. */
  async dialService(namespace: string, name: string, port: number): Promise<Duplex> {
    this.#dialing ??= import('./pods/service-dialing.ts').then(
      ({ ServiceDialing }) => new ServiceDialing(this.#connecting),
    );
    return (await this.#dialing).dial(namespace, name, port);
  }

  /** The address of the first door. */
  get url(): string {
    return this.#doors[0]!.url;
  }

  /** Stops accepting requests, ends watches and connections, waits for the other requests. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#sampling?.end();
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
