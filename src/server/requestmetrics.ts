/**
 * Request metrics: how many requests there were and how long they took, by verb, resource and code, under the names that
 * dashboards of kube-apiserver know. Paths come from outside and can say anything, so only resources that are served
 * get a series of their own; all others share one.
 */
import { type Exposition, Histogram, labelText } from './exposition.ts';
import { isConnect, type RequestInfo, type ResourceInfo, verbOf } from './requestinfo.ts';

const secondsBounds: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Kubernetes counts by HTTP's words for verbs, but for those HTTP does not have. */
const metricVerbs: Readonly<Record<string, string>> = {
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
};

/** Paths that are not about resources and are counted by themselves. */
const pages = new Set(['/api', '/apis', '/healthz', '/livez', '/metrics', '/readyz', '/version']);

class Series {
  readonly codes = new Map<number, number>();
  readonly seconds = new Histogram(secondsBounds);
  longRunning = 0;

  constructor(readonly labels: string) {}
}

/** Whether there is such a resource or, with a subresource, such a part of it. */
export type Serves = (apiVersion: string, resource: string, subresource: string | undefined) => boolean;

export class RequestMetrics {
  readonly #series = new Map<string, Series>();

  constructor(private readonly serves: Serves) {}

  /** @param code 0 when the client left before there was an answer */
  record(info: RequestInfo, watching: boolean, code: number, tookMs: number): void {
    const series = this.#of(info, watching);
    series.codes.set(code, (series.codes.get(code) ?? 0) + 1);
    series.seconds.observe(tookMs / 1000);
  }

  /** One more, or with -1 one less, of the requests that last. */
  addLongRunning(info: RequestInfo, watching: boolean, change: 1 | -1): void {
    this.#of(info, watching).longRunning += change;
  }

  #of(info: RequestInfo, watching: boolean): Series {
    const { resource } = info;
    const verb = metricVerb(info, watching);
    const key = resource
      ? `${verb} ${scopeOf(resource, verb)} ${resource.apiVersion} ${resource.resource} ${resource.subresource}`
      : `${verb} ${info.path}`;
    return this.#series.get(key) ?? this.#unseen(key, info, verb);
  }

  #unseen(key: string, { resource, path }: RequestInfo, verb: string): Series {
    if (resource && this.serves(resource.apiVersion, resource.resource, resource.subresource))
      return this.#add(key, verb, scopeOf(resource, verb), resource, resource.subresource ?? '');
    if (!resource && pages.has(path)) return this.#add(key, verb, '', undefined, path);
    return this.#series.get(verb) ?? this.#add(verb, verb, '', undefined, '');
  }

  #add(
    key: string,
    verb: string,
    scope: string,
    info: ResourceInfo | undefined,
    subresource: string,
  ): Series {
    const apiVersion = info?.apiVersion ?? '';
    const slash = apiVersion.indexOf('/');
    const labels = labelText({
      verb,
      group: slash < 0 ? '' : apiVersion.slice(0, slash),
      version: apiVersion.slice(slash + 1),
      resource: info?.resource ?? '',
      subresource,
      scope,
    });
    const series = new Series(labels);
    this.#series.set(key, series);
    return series;
  }

  writeTo(out: Exposition): void {
    const all = [...this.#series.values()];
    out.family(
      'apiserver_request_total',
      'counter',
      'Requests answered, by what they asked for and the code.',
    );
    for (const { labels, codes } of all)
      for (const [code, count] of codes) out.sample(count, `${labels},code="${code}"`);
    out.family('apiserver_request_duration_seconds', 'histogram', 'Time from a request to its answer.');
    for (const { labels, seconds, codes } of all) if (codes.size > 0) seconds.writeTo(out, labels);
    out.family('apiserver_longrunning_requests', 'gauge', 'Watches and connections that are open.');
    for (const { labels, longRunning } of all) if (longRunning > 0) out.sample(longRunning, labels);
  }
}

function metricVerb(info: RequestInfo, watching: boolean): string {
  if (isConnect(info.resource)) return 'CONNECT';
  return metricVerbs[verbOf(info, watching)] ?? 'other';
}

/** How much a request is about: one object, a namespace, or the cluster. */
function scopeOf({ name, namespace }: ResourceInfo, verb: string): string {
  if (name !== undefined || verb === 'POST') return 'resource';
  return namespace === undefined ? 'cluster' : 'namespace';
}
