/**
 * Aggregated discovery: all groups, versions and resources in two documents, for clients that accept them at `/api`
 * and `/apis`. Other clients get the plain list there, and request each version.
 */

import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import { atOnce } from '../../api/text/json.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { composedKey } from '../../composed-key.ts';
import { givenInSlices } from '../../time-slices.ts';
import type { RequestContext } from '../http/context.ts';
import { ApiDocument } from '../http/document.ts';
import { parseAccept } from '../http/negotiation.ts';
import { type Discovery, type DiscoveryResource, isResource } from './discovery.ts';
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

interface Made {
  readonly generation: number;
  readonly document: ApiDocument | Promise<ApiDocument>;
}

/** Steps of a turn of the event loop that one resource takes. */
const resourceSteps = 100;
/** Length of the texts in which a version is kept. */
const textChars = 64 * 1024;

export class AggregatedDiscovery {
  /** The newest document of each path and version, and the generation of the table it was made from. */
  readonly #documents = new Map<string, Made>();
  /** The JSON text of each version, in pieces. */
  readonly #versions: VersionCache<readonly string[]>;
  /** The JSON text of versions that other servers serve, by what those said. */
  readonly #remotes = new WeakMap<JsonObject, readonly string[]>();

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
    const document = await this.#document(path, version);
    await document.answer(context, { 'Cache-Control': 'public' });
    return true;
  }

  #document(path: '/api' | '/apis', version: string): ApiDocument | Promise<ApiDocument> {
    const key = composedKey(path, version);
    const { generation } = this.discovery;
    const known = this.#documents.get(key);
    if (known?.generation === generation) return known.document;
    const document = givenInSlices(this.#make(path, version));
    this.#documents.set(key, { generation, document });
    return document;
  }

  *#make(path: '/api' | '/apis', version: string): Generator<number, ApiDocument> {
    const head = { kind: 'APIGroupDiscoveryList', apiVersion: `${group}/${version}`, metadata: {} };
    const texts = [`${JSON.stringify(head).slice(0, -1)},"items":[`];
    if (path === '/api')
      texts.push('{"metadata":{},"versions":[', ...(yield* this.#version('v1', 'v1')), ']}');
    else
      for (const [i, { name, versions: described }] of this.discovery.groupList().groups.entries()) {
        texts.push(`${i ? ',' : ''}{"metadata":${JSON.stringify({ name })},"versions":[`);
        for (const [j, { groupVersion, version }] of described.entries()) {
          if (j) texts.push(',');
          for (const text of yield* this.#version(groupVersion, version)) texts.push(text);
        }
        texts.push(']}');
      }
    texts.push(']}\n');
    const contentType = `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`;
    return yield* ApiDocument.textInSlices(contentType, texts);
  }

  *#version(apiVersion: string, version: string): Generator<number, readonly string[]> {
    const remote = this.discovery.remote(apiVersion);
    if (!remote) {
      const listed = (): readonly unknown[] => this.discovery.resourceList(apiVersion)?.resources ?? [];
      return this.#versions.get(apiVersion, () => atOnce(this.#makeVersion(apiVersion, version, listed())))!;
    }
    if (!remote.available) return [JSON.stringify({ version, freshness: 'Stale' })];
    const answer = this.discovery.remoteAnswer(apiVersion) ?? {};
    const known = this.#remotes.get(answer);
    if (known !== undefined) return known;
    const { resources } = answer;
    const listed: readonly unknown[] = Array.isArray(resources) ? resources : [];
    const texts = yield* this.#makeVersion(apiVersion, version, listed);
    this.#remotes.set(answer, texts);
    return texts;
  }

  /** @param listed what is said of each resource; what is not well-formed is left out */
  *#makeVersion(
    apiVersion: string,
    version: string,
    listed: readonly unknown[],
  ): Generator<number, readonly string[]> {
    const resources = new Map<string, AggregatedResource>();
    const { kinds } = this.discovery;
    for (const resource of listed) {
      yield resourceSteps;
      if (!isResource(resource)) continue;
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
    // Kept as texts of some length: one of all resources takes long to make, and one of each much memory.
    const texts: string[] = [];
    let text = `{"version":${JSON.stringify(version)},"resources":[`;
    let separator = '';
    for (const resource of resources.values()) {
      yield resourceSteps;
      text += separator + JSON.stringify(resource);
      separator = ',';
      if (text.length < textChars) continue;
      texts.push(text);
      text = '';
    }
    texts.push(`${text}],"freshness":"Current"}`);
    return texts;
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
