/** Pages: non-resource paths, such as health, metrics, version and OpenAPI documents. */
import type { Tokens } from '../access/tokens/tokens.ts';
import { methodNotAllowed, resourceNotFound } from '../api/errors/errors.ts';
import type { Authorizer } from '../api/kind/access.ts';
import { findModel } from '../api/model/model.ts';
import type { Compatibility } from '../registry/compatibility.ts';
import type { Registry } from '../registry/registry.ts';
import type { HistoryGap } from '../registry/view/history-gap.ts';
import { answerBackup } from './computed/backup.ts';
import type { Dashboard } from './dashboard/dashboard.ts';
import { AggregatedDiscovery } from './discovery/aggregated-discovery.ts';
import { asOf11, type Discovery } from './discovery/discovery.ts';
import { answerIssuer } from './discovery/issuer-documents.ts';
import { OpenApi } from './discovery/openapi/openapi.ts';
import { type ReportedVersion, versionInfo } from './discovery/version.ts';
import { answerText, answerValue } from './http/answer.ts';
import type { RequestContext } from './http/context.ts';
import {
  changesPath,
  forwardsPath,
  historyPath,
  importPath,
  problemsPath,
  samplesPath,
  searchPath,
  snapshotsPath,
  tracePath,
} from './http/request-info.ts';
import { expositionType } from './observe/exposition.ts';
import { answerHealth, type HealthCheck } from './observe/health.ts';
import { answerTraces, type RequestTraces } from './observe/request-traces.ts';
import { answerStatusPage } from './observe/status-pages.ts';
import type { Connecting } from './pods/connecting.ts';
import type { Sampling } from './samples/sampling.ts';

/** Additions of the test kit to the pages. */
export interface PageInstruments {
  /** Answers paths of its own; false for any other path. */
  readonly page: (context: RequestContext) => Promise<boolean>;
  /** Times in which nothing was seen of a cluster that is recorded. */
  readonly gaps?: (() => readonly HistoryGap[]) | undefined;
  /** What the server shows a copy of. */
  readonly copy?: { readonly about: string; readonly isWritable: boolean } | undefined;
  /** OpenAPI 3 documents about these paths, by name. */
  readonly documents?: Readonly<Record<string, object>> | undefined;
}

/** What pages show that is not in the registry. */
export interface PageSources {
  /** Tokens of service accounts; their public keys are published. */
  readonly tokens: Tokens;
  readonly compatibility: Compatibility;
  /** What users may do who are not those of a door. */
  readonly rights: Authorizer;
  /** How nodes are asked for logs. */
  readonly connecting: () => Connecting;
  readonly health: readonly HealthCheck[];
  /** The metrics, as text. */
  readonly metrics: () => Promise<string>;
  /** How long the phases of requests took; absent without `--trace-requests`. */
  readonly traces?: RequestTraces | undefined;
  /** The samples of usage and requests; absent when they are not taken. */
  readonly sampling?: Sampling | undefined;
  /** The dashboard; absent when it is not served. */
  readonly dashboard?: Dashboard | undefined;
  readonly version?: ReportedVersion | undefined;
  /** Answers paths of snapshots; false for those that are unknown. */
  readonly snapshots?: ((context: RequestContext) => Promise<boolean>) | undefined;
  /** Takes in objects of another cluster. */
  readonly imports?: ((context: RequestContext) => Promise<void>) | undefined;
  /** Pages of the test kit. */
  readonly instruments?: PageInstruments | undefined;
}

export class Pages {
  readonly #aggregated: AggregatedDiscovery;
  readonly #openApi: OpenApi;

  constructor(
    private readonly registry: Registry,
    private readonly discovery: Discovery,
    private readonly sources: PageSources,
  ) {
    this.#aggregated = new AggregatedDiscovery(discovery);
    this.#openApi = new OpenApi(
      discovery,
      registry.kinds,
      () => registry.sources.nowMs(),
      sources.instruments?.documents,
    );
  }

  async answer(context: RequestContext): Promise<void> {
    const { dashboard } = this.sources;
    if (context.info.page && dashboard?.isFor(context)) return dashboard.answer(context);
    if (!(await this.#answer(context))) answerText(context, 404, '404 page not found\n');
  }

  /** Answers a page; returns false when the path is unknown. */
  async #answer(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if (method === 'GET' || method === 'HEAD') {
      if (await answerHealth(context, this.sources.health)) return true;
      if (path === '/metrics') {
        answerText(context, 200, await this.sources.metrics(), expositionType);
        return true;
      }
      if (await answerStatusPage(context, this.sources.health, this.registry.sources.nowMs())) return true;
    }
    if (path === tracePath && this.sources.traces) return answerTraces(context, this.sources.traces);
    if (this.sources.instruments && (await this.sources.instruments.page(context))) return true;
    if (await answerIssuer(context, this.sources.tokens, this.registry)) return true;
    if (await answerBackup(context, this.registry)) return true;
    if (isBelow(path, snapshotsPath) && (await this.sources.snapshots?.(context))) return true;
    if (path === importPath && this.sources.imports) {
      await this.sources.imports(context);
      return true;
    }
    if (path === problemsPath) {
      const { answerProblems } = await import('./problems/problems-page.ts');
      return answerProblems(context, this.sources.connecting(), this.sources.rights);
    }
    if (path === samplesPath && this.sources.sampling) {
      const { answerSamples } = await import('./samples/samples-page.ts');
      return answerSamples(context, await this.sources.sampling.sampler(), this.sources.rights);
    }
    if (isBelow(path, forwardsPath)) {
      const { answerForwards } = await import('./forwards/forwards-page.ts');
      return answerForwards(context, this.sources.connecting(), this.sources.rights);
    }
    if (path === searchPath) {
      const { answerSearch } = await import('./search/search-page.ts');
      return answerSearch(context, this.registry, this.sources.rights);
    }
    if (path === historyPath || path === changesPath) {
      const past = await import('./past/past-pages.ts');
      const { rights, instruments = {} } = this.sources;
      return past.answerPast(context, this.registry, rights, instruments);
    }
    if (await this.#aggregated.answer(context)) return true;
    const document = this.#document(context, path);
    // Clients of 1.1 send no Accept header; those that send one know today's form.
    const isOld = this.sources.compatibility === 'contract' && !context.request.headers.accept;
    const value = document && isOld ? asOf11(document) : document;
    if (value === undefined) return this.#openApi.answer(context);
    if (method !== 'GET') throw methodNotAllowed();
    const model = findModel(String((value as { kind?: unknown }).kind));
    const negotiated = context.negotiate(model ? 'all' : 'none');
    const pretty = path === '/version' || path === '/';
    const form = { ...negotiated, transform: undefined, pretty: pretty || negotiated.pretty };
    await answerValue(context, 200, value, form, model);
    return true;
  }

  #document(context: RequestContext, path: string): object | undefined {
    const { discovery } = this;
    if (path === '/' || path === '') return { paths: discovery.paths() };
    if (path === '/version') return versionInfo(this.sources.version, discovery.kinds.minor);
    if (path === '/api') return discovery.apiVersions(context.request.headers.host ?? '');
    if (path === '/apis') return discovery.groupList();
    const [, root, group, version, more] = path.split('/', 5);
    if (more !== undefined) return undefined;
    if (root === 'api' && version === undefined) return known(discovery.resourceList(group!));
    if (root !== 'apis') return undefined;
    const described = discovery.group(group!);
    // Groups of custom kinds come and go: an unknown one is an unknown page.
    if (!described && group!.includes('.')) return undefined;
    if (version === undefined) return known(described);
    if (!described) return undefined;
    const list = discovery.resourceList(`${group}/${version}`);
    return list || discovery.isCustomGroup(group!) ? list : known(list);
  }
}

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** A group or version that is not served is an API error, not an unknown page. */
function known<T>(document: T | undefined): T {
  if (document === undefined) throw resourceNotFound();
  return document;
}
