/** Discovery: the groups, versions and resources that are served, made from the table of kinds. */
import { createHash } from 'node:crypto';
import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import type { Kind, Verb } from '../../api/kind/kind.ts';
import { computedKinds, versionNamed } from '../../api/kinds/builtin-groups.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { compareVersions } from '../../api/values/version-order.ts';
import type { Aggregation } from '../../extensions/aggregation/aggregation.ts';
import type { RemoteVersion } from '../../extensions/aggregation/api-services.ts';
import { localPriority, type Priority } from '../../extensions/aggregation/priorities.ts';
import { issuerPath, keysPath } from './issuer-documents.ts';
import { VersionCache } from './version-cache.ts';

/** A resource or subresource, as discovery describes it. */
export interface DiscoveryResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string;
  version?: string;
  kind: string;
  verbs: readonly string[];
  shortNames?: readonly string[];
  categories?: readonly string[];
  storageVersionHash?: string;
}

/** Kinds of documents that Kubernetes 1.1 wrote without an apiVersion. */
const unversionedThen: ReadonlySet<unknown> = new Set(['APIGroupList', 'APIGroup', 'APIResourceList']);

/**
 * A discovery document as Kubernetes 1.1 wrote it, without an apiVersion: clients of 1.1 refuse a document that has
 * one.
 */
export function asOf11(document: object): object {
  const { apiVersion: _, ...rest } = document as { readonly kind?: string; readonly apiVersion?: string };
  return unversionedThen.has(rest.kind) ? rest : document;
}

const sorted = (verbs: readonly Verb[]): readonly string[] => [...verbs].sort();

/** The hash that tells clients whether the storage version has changed, computed as Kubernetes does. */
function storageVersionHash({ storage: { group, version, kind, hashedVersion } }: Kind): string {
  return hashOf(hashedVersion ?? `${group}/${version}`, kind);
}

function hashOf(stored: string, kind: string): string {
  const hashed = `${stored.includes('/') ? '' : '/'}${stored}/${kind}`;
  return createHash('sha256').update(hashed).digest().subarray(0, 8).toString('base64');
}

/** @param stored whether objects of the kind are stored; others are computed on request */
function resourcesOf(kind: Kind, stored: boolean): DiscoveryResource[] {
  return [
    {
      name: kind.resource,
      singularName: kind.singular,
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: kind.custom ? kind.verbs : sorted(kind.verbs),
      ...(kind.shortNames.length ? { shortNames: kind.shortNames } : {}),
      ...(kind.categories.length ? { categories: kind.categories } : {}),
      ...(stored ? { storageVersionHash: storageVersionHash(kind) } : {}),
    },
    ...kind.subresources.map((sub) => ({
      name: `${kind.resource}/${sub.name}`,
      singularName: '',
      namespaced: kind.namespaced,
      ...(sub.group === undefined ? {} : { group: sub.group, version: sub.version }),
      kind: sub.kind ?? kind.kind,
      verbs: sorted(sub.verbs),
    })),
  ];
}

/** A resource as a minor of Kubernetes describes it; nothing when that minor does not have it. */
function asIn(
  minor: ChosenMinor,
  apiVersion: string,
  { shortNames: _, categories: __, storageVersionHash: hash, ...resource }: DiscoveryResource,
): DiscoveryResource[] {
  const then = minor.resource(apiVersion, resource.name);
  if (!then) return [];
  const { kind, verbs, singularName, shortNames, categories, stored = apiVersion } = then;
  return [
    {
      ...resource,
      singularName,
      kind,
      verbs: sorted(verbs),
      ...(shortNames.length ? { shortNames } : {}),
      ...(categories.length ? { categories } : {}),
      ...(hash === undefined
        ? {}
        : { storageVersionHash: stored[0] === '?' ? stored.slice(1) : hashOf(stored, kind) }),
    },
  ];
}

const isCustom = ({ custom }: Kind): boolean => custom === true;

/** Sorts by name; the subresources of custom kinds keep their order. */
function sortResources(resources: DiscoveryResource[], custom: ReadonlySet<string>): void {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  resources.sort(({ name: a }, { name: b }) => {
    const [one, other] = [a.split('/')[0]!, b.split('/')[0]!];
    return compare(one, other) || (custom.has(one) ? 0 : compare(a, b));
  });
}

/** Versions whose resources are computed on request, and never stored. */
export type ComputedVersions = ReadonlyMap<string, readonly DiscoveryResource[]>;

/** The resources of a version, sorted by name. */
export interface ResourceList {
  readonly kind: 'APIResourceList';
  readonly apiVersion?: 'v1';
  readonly groupVersion: string;
  readonly resources: readonly DiscoveryResource[];
}

/** Groups that have custom kinds alone, by name. Kubernetes lists them behind its own. */
function customGroups(kinds: KindTable): string[] {
  const groups = new Set<string>();
  for (const kind of kinds.served()) if (kind.custom) groups.add(kind.group);
  for (const kind of kinds.served()) if (!kind.custom) groups.delete(kind.group);
  return [...groups].sort();
}

/**
 * Whether another server's description of a resource is valid: fields that clients read as text are text, and names
 * have no blanks or control characters, which could do harm in a terminal.
 */
export const isResource = (value: unknown): value is DiscoveryResource => {
  const said = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { name, kind, verbs, singularName = '', namespaced = false, group = '', version = '' } = said;
  const { shortNames = [], categories = [] } = said;
  return (
    isName(name) &&
    name !== '' &&
    [kind, singularName, group, version].every(isName) &&
    typeof namespaced === 'boolean' &&
    [verbs, shortNames, categories].every((list) => Array.isArray(list) && list.every(isName))
  );
};

const isName = (value: unknown): value is string =>
  typeof value === 'string' && !/[\s\u0000-\u001f\u007f-\u009f]/.test(value);

export class Discovery {
  #groupsNow: { readonly generation: number; readonly groups: ReadonlyMap<string, string[]> } | undefined;
  readonly #lists: VersionCache<ResourceList>;

  constructor(
    readonly kinds: KindTable,
    private readonly computed: ComputedVersions = new Map(),
    /** Versions that other servers serve. */
    private readonly aggregation?: Aggregation,
  ) {
    this.#lists = new VersionCache(kinds);
  }

  /** Increases when the groups and versions change. */
  get generation(): number {
    return this.kinds.generation + (this.aggregation?.services.generation ?? 0);
  }

  /** The entry of a version that another server serves; undefined for others. */
  remote(apiVersion: string): RemoteVersion | undefined {
    return this.aggregation?.services.remote(apiVersion);
  }

  /** What another server said of its version last; the same object while it says the same. */
  remoteAnswer(apiVersion: string): JsonObject | undefined {
    return this.aggregation?.resources(apiVersion);
  }

  apiVersions(serverAddress: string) {
    return {
      kind: 'APIVersions',
      versions: this.kinds.serves('v1') ? ['v1'] : [],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
    };
  }

  /** `extensions` → `['v1beta1']`, for every group but the core. */
  #groups(): ReadonlyMap<string, string[]> {
    const { generation } = this;
    if (this.#groupsNow?.generation !== generation)
      this.#groupsNow = { generation, groups: this.#makeGroups() };
    return this.#groupsNow.groups;
  }

  #makeGroups(): Map<string, string[]> {
    const groups = new Map<string, string[]>();
    for (const kind of this.kinds.served()) {
      if (!kind.group) continue;
      const versions = groups.get(kind.group) ?? [];
      if (!versions.includes(kind.version)) versions.push(kind.version);
      groups.set(kind.group, versions);
    }
    for (const apiVersion of this.computed.keys()) {
      const [group, version] = apiVersion.split('/') as [string, string];
      groups.set(group, [...(groups.get(group) ?? []), version]);
    }
    for (const { group, version } of this.aggregation?.services.remotes() ?? []) {
      const versions = groups.get(group) ?? [];
      if (!versions.includes(version)) versions.push(version);
      groups.set(group, versions);
    }
    return this.#sorted(groups);
  }

  /** Groups and versions with higher priorities first; clients prefer the first that has a kind. */
  #sorted(groups: ReadonlyMap<string, string[]>): Map<string, string[]> {
    const priority = (group: string, version: string): Priority => {
      const apiVersion = `${group}/${version}`;
      return this.remote(apiVersion)?.priority ?? localPriority(apiVersion, this.kinds.minor);
    };
    const ranked = [...groups].map(([group, versions]) => {
      const rank = Math.max(...versions.map((version) => priority(group, version).group));
      const number = (version: string): number => priority(group, version).version;
      versions.sort((a, b) => number(b) - number(a) || compareVersions(a, b));
      return { group, versions, rank };
    });
    ranked.sort((a, b) => b.rank - a.rank || (a.group < b.group ? -1 : 1));
    return new Map(ranked.map(({ group, versions }) => [group, versions]));
  }

  #group(name: string, versions: readonly string[]) {
    const described = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: described, preferredVersion: described[0] };
  }

  groupList() {
    const groups = [...this.#groups()].map(([name, versions]) => this.#group(name, versions));
    return { kind: 'APIGroupList', apiVersion: 'v1', groups };
  }

  /** Every version that this server serves, the core's first: `v1`, `extensions/v1beta1`. */
  served(): string[] {
    const groups = [...this.#groups()];
    const all = groups.flatMap(([name, versions]) => versions.map((version) => `${name}/${version}`));
    return [
      ...(this.kinds.serves('v1') ? ['v1'] : []),
      ...all.filter((apiVersion) => !this.remote(apiVersion)),
    ];
  }

  /** Versions that other servers serve and that can be reached. */
  servedElsewhere(): string[] {
    const remotes = [...(this.aggregation?.services.remotes() ?? [])];
    return remotes.filter(({ available }) => available).map(({ apiVersion }) => apiVersion);
  }

  group(name: string) {
    const versions = this.#groups().get(name);
    return versions && { kind: 'APIGroup', apiVersion: 'v1', ...this.#group(name, versions) };
  }

  /** Whether all kinds of a group are custom. */
  isCustomGroup(name: string): boolean {
    return customGroups(this.kinds).includes(name);
  }

  /** undefined when no such version is served. */
  resourceList(apiVersion: string): ResourceList | undefined {
    return this.#lists.get(apiVersion, () => this.#makeList(apiVersion));
  }

  #makeList(apiVersion: string): ResourceList | undefined {
    let resources = [...this.kinds.inVersion(apiVersion)].flatMap((kind) => resourcesOf(kind, true));
    resources.push(...(this.computed.get(apiVersion) ?? []));
    if (resources.length === 0 && !this.computed.has(apiVersion)) return undefined;
    resources.push(...(versionNamed(apiVersion)?.resources ?? []));
    for (const kind of computedKinds(apiVersion)) resources.push(...resourcesOf(kind, false));
    const { minor } = this.kinds;
    if (minor?.hasVersion(apiVersion)) resources = resources.flatMap((one) => asIn(minor, apiVersion, one));
    sortResources(
      resources,
      new Set([...this.kinds.inVersion(apiVersion)].filter(isCustom).map(({ resource }) => resource)),
    );
    return {
      kind: 'APIResourceList',
      // The core's list has no apiVersion in Kubernetes either.
      ...(apiVersion === 'v1' ? {} : { apiVersion: 'v1' }),
      groupVersion: apiVersion,
      resources,
    };
  }

  /** Whether a version has this resource or subresource: `pods`, `pods/status`. */
  serves(apiVersion: string, name: string): boolean {
    return this.resourceList(apiVersion)?.resources.some((resource) => resource.name === name) ?? false;
  }

  paths(): string[] {
    const groups = [...this.#groups()].flatMap(([name, versions]) => [
      `/apis/${name}`,
      ...versions.map((version) => `/apis/${name}/${version}`),
    ]);
    return [
      issuerPath,
      '/api',
      '/api/v1',
      '/apis',
      ...groups,
      '/healthz',
      '/livez',
      '/metrics',
      '/metrics/slis',
      '/openapi/v2',
      '/openapi/v3',
      keysPath,
      '/readyz',
      '/statusz',
      '/swaggerapi',
      '/version',
    ];
  }
}
