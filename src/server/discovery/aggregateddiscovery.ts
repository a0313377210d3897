/**
 * Aggregated discovery: all groups, versions and resources in two answers, for clients that ask `/api` and `/apis`
 * for it. Others get the plain form there, and go on asking for each version.
 */
import type { RequestContext } from '../http/context.ts';
import { ApiDocument } from '../http/document.ts';
import { parseAccept } from '../http/negotiation.ts';
import type { Discovery, DiscoveryResource } from './discovery.ts';

const group = 'apidiscovery.k8s.io';
const versions = ['v2', 'v2beta1'];

interface ResponseKind {
  group: string;
  version: string;
  kind: string;
}

interface AggregatedResource {
  resource: string;
  responseKind: ResponseKind;
  scope: 'Cluster' | 'Namespaced';
  singularResource: string;
  verbs: readonly string[];
  shortNames?: readonly string[];
  categories?: readonly string[];
  subresources?: { subresource: string; responseKind: ResponseKind; verbs: readonly string[] }[];
}

export class AggregatedDiscovery {
  /** The newest document of each path and version. */
  readonly #documents = new Map<string, { text: string; document: ApiDocument }>();

  constructor(private readonly discovery: Discovery) {}

  /** Answers if the client asks for this form; false otherwise. */
  async answer(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if ((path !== '/api' && path !== '/apis') || method !== 'GET') return false;
    // Both forms say that there is another, for caches between.
    context.response.setHeader('Vary', 'Accept');
    const version = wantedVersion(context.request.headers.accept);
    if (version === undefined) return false;
    await this.#document(path, version).answer(context, { 'Cache-Control': 'public' });
    return true;
  }

  /** Made anew each time, because kinds may have come; it costs less than knowing whether they have. */
  #document(path: '/api' | '/apis', version: string): ApiDocument {
    const core = path === '/api';
    const value = {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `${group}/${version}`,
      metadata: {},
      items: core ? [{ metadata: {}, versions: [this.#version('v1', 'v1')] }] : this.#groups(),
    };
    const text = `${JSON.stringify(value)}\n`;
    const key = `${path} ${version}`;
    const known = this.#documents.get(key);
    if (known?.text === text) return known.document;
    const contentType = `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;
    const document = new ApiDocument(contentType, Buffer.from(text));
    this.#documents.set(key, { text, document });
    return document;
  }

  #groups() {
    return this.discovery.groupList().groups.map(({ name, versions: described }) => ({
      metadata: { name },
      versions: described.map(({ groupVersion, version }) => this.#version(groupVersion, version)),
    }));
  }

  #version(apiVersion: string, version: string) {
    const resources = new Map<string, AggregatedResource>();
    for (const resource of this.discovery.resourceList(apiVersion)?.resources ?? []) {
      const [name, part] = resource.name.split('/') as [string, string | undefined];
      if (part === undefined) resources.set(name, { ...resources.get(name), ...wholeOf(resource) });
      else {
        const whole = resources.get(name) ?? ownerless(name, resource);
        resources.set(name, whole);
        (whole.subresources ??= []).push({
          subresource: part,
          responseKind: kindOf(resource),
          verbs: resource.verbs,
        });
      }
    }
    return { version, resources: [...resources.values()], freshness: 'Current' };
  }
}

/** Group and version are empty where they are those of the list. */
const kindOf = ({ group = '', version = '', kind }: DiscoveryResource): ResponseKind => ({
  group,
  version,
  kind,
});

const wholeOf = (resource: DiscoveryResource): AggregatedResource => ({
  resource: resource.name,
  responseKind: kindOf(resource),
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.singularName,
  verbs: resource.verbs,
  ...(resource.shortNames ? { shortNames: resource.shortNames } : {}),
  ...(resource.categories ? { categories: resource.categories } : {}),
});

/** A part of something that is not served itself needs a place; clients skip what has no kind. */
const ownerless = (resource: string, part: DiscoveryResource): AggregatedResource => ({
  resource,
  responseKind: { group: '', version: '', kind: '' },
  scope: part.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: '',
  verbs: [],
});

/** The version a client wants this form in; undefined when it prefers the plain one, or can read no JSON. */
function wantedVersion(accept: string | undefined): string | undefined {
  if (!accept?.includes(group)) return undefined;
  for (const { type, parameters } of parseAccept(accept)) {
    if (type === '*/*') return undefined;
    if (type !== 'application/json') continue;
    const as = parameters.get('as');
    if (as === undefined) return undefined;
    const version = parameters.get('v') ?? '';
    if (as === 'APIGroupDiscoveryList' && parameters.get('g') === group && versions.includes(version))
      return version;
  }
  return undefined;
}
