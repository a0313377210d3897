/**
 * Aggregated discovery: all groups, versions and resources in two documents, for clients that accept them at `/api`
 * and `/apis`. Other clients get the plain list there, and request each version.
 */

import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import { composedKey } from '../../composed-key.ts';
import type { RequestContext } from '../http/context.ts';
import { ApiDocument } from '../http/document.ts';
import { parseAccept } from '../http/negotiation.ts';
import type { Discovery, DiscoveryResource } from './discovery.ts';
import { splitApiVersion } from './model-names.ts';
import { VersionCache } from './version-cache.ts';

const group = 'apidiscovery.k8s.io';
const versions = ['v2', 'v2beta1'];

interface ResponseKind {
  group: string;
  version: string;
  kind: string;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

const unnamed: GroupVersion = { group: '', version: '' };

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
  /** The newest document of each path and version, and the generation of the table it was made from. */
  readonly #documents = new Map<string, { readonly generation: number; readonly document: ApiDocument }>();
  /** The JSON text of each version. */
  readonly #versions: VersionCache<string>;

  constructor(private readonly discovery: Discovery) {
    this.#versions = new VersionCache(discovery.kinds);
  }

  /** Answers if the client accepts this form; false otherwise. */
  async answer(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if ((path !== '/api' && path !== '/apis') || method !== 'GET') return false;
    // On answers in both forms, so that HTTP caches keep them apart.
    context.response.setHeader('Vary', 'Accept');
    const version = wantedVersion(context.request.headers.accept, versionsIn(this.discovery.kinds.minor));
    if (version === undefined) return false;
    await this.#document(path, version).answer(context, { 'Cache-Control': 'public' });
    return true;
  }

  #document(path: '/api' | '/apis', version: string): ApiDocument {
    const key = composedKey(path, version);
    const { generation } = this.discovery;
    const known = this.#documents.get(key);
    if (known?.generation === generation) return known.document;
    const items =
      path === '/api' ? [`{"metadata":{},"versions":[${this.#version('v1', 'v1')}]}`] : this.#groups();
    const head = { kind: 'APIGroupDiscoveryList', apiVersion: `${group}/${version}`, metadata: {} };
    const text = `${JSON.stringify(head).slice(0, -1)},"items":[${items.join(',')}]}\n`;
    const contentType = `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;
    const document = new ApiDocument(contentType, Buffer.from(text));
    this.#documents.set(key, { generation, document });
    return document;
  }

  #groups(): string[] {
    return this.discovery.groupList().groups.map(({ name, versions: described }) => {
      const parts = described.map(({ groupVersion, version }) => this.#version(groupVersion, version));
      return `{"metadata":${JSON.stringify({ name })},"versions":[${parts.join(',')}]}`;
    });
  }

  #version(apiVersion: string, version: string): string {
    const remote = this.discovery.remote(apiVersion);
    if (remote && !remote.available) return JSON.stringify({ version, freshness: 'Stale' });
    if (remote) return JSON.stringify(this.#makeVersion(apiVersion, version));
    return this.#versions.get(apiVersion, () => JSON.stringify(this.#makeVersion(apiVersion, version)))!;
  }

  #makeVersion(apiVersion: string, version: string) {
    const resources = new Map<string, AggregatedResource>();
    const { kinds } = this.discovery;
    const listed = this.discovery.remote(apiVersion)
      ? this.discovery.remoteResources(apiVersion)
      : this.discovery.resourceList(apiVersion)?.resources;
    for (const resource of listed ?? []) {
      const [name, part] = resource.name.split('/') as [string, string | undefined];
      const home = kinds.resource(apiVersion, name)?.custom ? splitApiVersion(apiVersion) : unnamed;
      if (part === undefined) resources.set(name, { ...resources.get(name), ...wholeOf(resource, home) });
      else {
        const whole = resources.get(name) ?? ownerless(name, resource);
        resources.set(name, whole);
        (whole.subresources ??= []).push({
          subresource: part,
          responseKind: kindOf(resource, home),
          verbs: resource.verbs,
        });
      }
    }
    return { version, resources: [...resources.values()], freshness: 'Current' };
  }
}

/** Group and version are empty when they are those of the list, except for custom kinds. */
const kindOf = ({ group, version, kind }: DiscoveryResource, home: GroupVersion): ResponseKind => ({
  group: group ?? home.group,
  version: version ?? home.version,
  kind,
});

const wholeOf = (resource: DiscoveryResource, home: GroupVersion): AggregatedResource => ({
  resource: resource.name,
  responseKind: kindOf(resource, home),
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.singularName,
  verbs: resource.verbs,
  ...(resource.shortNames ? { shortNames: resource.shortNames } : {}),
  ...(resource.categories ? { categories: resource.categories } : {}),
});

/**
 * An entry for a subresource whose resource is not served in this version. Clients skip it, because its kind is
 * empty.
 */
const ownerless = (resource: string, part: DiscoveryResource): AggregatedResource => ({
  resource,
  responseKind: { group: '', version: '', kind: '' },
  scope: part.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: '',
  verbs: [],
});

/** The versions of this form that a minor of Kubernetes has. */
function versionsIn(minor: ChosenMinor | undefined): readonly string[] {
  if (!minor) return versions;
  if (!minor.isOn('AggregatedDiscoveryEndpoint')) return [];
  return versions.filter((version) =>
    version === 'v2' ? minor.isAtLeast(30) : !minor.isOn('AggregatedDiscoveryRemoveBetaType'),
  );
}

/**
 * The version of this form that a client prefers; undefined when it prefers the plain form, or does not accept JSON.
 */
function wantedVersion(accept: string | undefined, versions: readonly string[]): string | undefined {
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
