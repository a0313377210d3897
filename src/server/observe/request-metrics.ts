/**
 * Request metrics: number and duration of requests by verb, resource and code, under the names of kube-apiserver.
 * Paths come from clients and can be anything, so only served resources get their own series; all others share one.
 * The series of resources that are no longer served are deleted.
 */

import type { RequestInfo, ResourceInfo } from '../http/request-info.ts';
import { type Exposition, Histogram, labelText } from './exposition.ts';

const secondsBounds: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Kubernetes' metrics use HTTP methods as verbs, except for LIST, WATCH and the like. A map: clients send any method. */
const metricVerbs = new Map(
  Object.entries({
    get: 'GET',
    head: 'GET',
    list: 'LIST',
    watch: 'WATCH',
    create: 'POST',
    post: 'POST',
    update: 'PUT',
    put: 'PUT',
    patch: 'PATCH',
    delete: 'DELETE',
    deletecollection: 'DELETECOLLECTION',
    proxy: 'CONNECT',
  }),
);

/** Non-resource paths with their own series. */
const pages = new Set(['/api', '/apis', '/healthz', '/livez', '/metrics', '/readyz', '/version']);

class Series {
  readonly codes = new Map<number, { count: number }>();
  readonly seconds = new Histogram(secondsBounds);
  longRunning = 0;

  constructor(
    readonly verb: string,
    readonly scope: string,
    readonly apiVersion: string,
    readonly subresource: string | undefined,
    readonly labels: string,
  ) {}

  countCode(code: number): void {
    const known = this.codes.get(code);
    if (known) known.count++;
    else this.codes.set(code, { count: 1 });
  }
}

/** Number and duration of requests that do not last. */
export interface BriefTotals {
  count: number;
  totalMs: number;
  /** Since the totals were taken the last time. */
  longestMs: number;
}

/** Whether a resource or subresource is served. */
export type Serves = (apiVersion: string, resource: string, subresource: string | undefined) => boolean;

export class RequestMetrics {
  /** By resource. Looked up for every request without allocating a key. */
  readonly #resources = new Map<string, Series[]>();
  /** By path; all other paths are at ''. */
  readonly #pages = new Map<string, Series[]>();

  readonly #brief: BriefTotals = { count: 0, totalMs: 0, longestMs: 0 };

  constructor(private readonly serves: Serves) {}

  /** @param code 0 when the client disconnected before the answer */
  record(info: RequestInfo, code: number, tookMs: number): void {
    const series = this.#of(info);
    series.countCode(code);
    series.seconds.observe(tookMs / 1000);
    if (info.lasting !== undefined) return;
    const brief = this.#brief;
    brief.count++;
    brief.totalMs += tookMs;
    if (tookMs > brief.longestMs) brief.longestMs = tookMs;
  }

  /** Requests so far without watches and connections, which last as long as they are wanted. Begins a new longest. */
  takeBrief(): Readonly<BriefTotals> {
    const totals = { ...this.#brief };
    this.#brief.longestMs = 0;
    return totals;
  }

  /** Adds 1 or -1 to the number of long-running requests. */
  addLongRunning(info: RequestInfo, change: 1 | -1): void {
    this.#of(info).longRunning += change;
  }

  #of(info: RequestInfo): Series {
    const verb = metricVerb(info);
    const { resource } = info;
    if (!resource) return this.#page(info.path, verb);
    const { apiVersion, subresource } = resource;
    const scope = scopeOf(resource, verb);
    for (const series of this.#resources.get(resource.resource) ?? [])
      if (
        series.verb === verb &&
        series.scope === scope &&
        series.apiVersion === apiVersion &&
        series.subresource === subresource
      )
        return series;
    if (!this.serves(apiVersion, resource.resource, subresource)) return this.#page('', verb);
    return add(this.#resources, resource.resource, seriesOf(verb, scope, resource));
  }

  #page(path: string, verb: string): Series {
    const known = pages.has(path) ? path : '';
    const series = this.#pages.get(known)?.find((candidate) => candidate.verb === verb);
    return series ?? add(this.#pages, known, seriesOf(verb, '', undefined, known));
  }

  /**
   * Deletes the series of resources that are no longer served, except those with a long-running request that has not
   * ended.
   */
  #forgetUnserved(): void {
    for (const [resource, all] of this.#resources) {
      const kept = all.filter(
        ({ apiVersion, subresource, longRunning }) =>
          longRunning > 0 || this.serves(apiVersion, resource, subresource),
      );
      if (kept.length) this.#resources.set(resource, kept);
      else this.#resources.delete(resource);
    }
  }

  writeTo(out: Exposition): void {
    this.#forgetUnserved();
    const all = [...this.#resources.values(), ...this.#pages.values()].flat();
    out.family(
      'apiserver_request_total',
      'counter',
      'Requests answered, by what they asked for and the code.',
    );
    for (const { labels, codes } of all)
      for (const [code, { count }] of codes) out.sample(count, `${labels},code="${code}"`);
    out.family('apiserver_request_duration_seconds', 'histogram', 'Time from a request to its answer.');
    for (const { labels, seconds, codes } of all) if (codes.size > 0) seconds.writeTo(out, labels);
    out.family('apiserver_longrunning_requests', 'gauge', 'Watches and connections that are open.');
    for (const { labels, longRunning } of all) if (longRunning > 0) out.sample(longRunning, labels);
  }
}

function add(map: Map<string, Series[]>, key: string, series: Series): Series {
  const known = map.get(key);
  if (known) known.push(series);
  else map.set(key, [series]);
  return series;
}

function seriesOf(verb: string, scope: string, info: ResourceInfo | undefined, page = ''): Series {
  const labels = labelText({
    verb,
    group: info?.group ?? '',
    version: info?.version ?? '',
    resource: info?.resource ?? '',
    subresource: info?.subresource ?? page,
    scope,
  });
  return new Series(verb, scope, info?.apiVersion ?? '', info?.subresource, labels);
}

/** Kubernetes counts connections as CONNECT, except logs, which are GET. */
function metricVerb({ lasting, resource, verb }: RequestInfo): string {
  if (lasting === 'connection' && resource?.subresource !== 'log') return 'CONNECT';
  return metricVerbs.get(verb) ?? 'other';
}

/** The scope of a request: one object, a namespace, or the cluster. */
function scopeOf({ name, namespace }: ResourceInfo, verb: string): string {
  if (name !== undefined || verb === 'POST') return 'resource';
  return namespace === undefined ? 'cluster' : 'namespace';
}
