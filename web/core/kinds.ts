/** The kinds that the server has, including custom ones, from aggregated discovery: two requests for all of them. */
import { computed, signal } from '@preact/signals';
import { ask, json } from './api.ts';

export interface Kind {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  /** `pods`. */
  readonly resource: string;
  /** `Pod`. */
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: ReadonlySet<string>;
  readonly shortNames: readonly string[];
  /** `status`, `scale`, `log`, … */
  readonly subresources: ReadonlySet<string>;
  /** The name of the kind in addresses of the dashboard: `pods`, `deployments.apps`. */
  readonly id: string;
}

interface Discovered {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope: string;
        readonly singularResource?: string;
        readonly verbs?: readonly string[];
        readonly shortNames?: readonly string[];
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

const aggregated = `${json};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,${json}`;
const refreshMs = 15_000;

/** All kinds in their preferred version; undefined before discovery. */
export const kinds = signal<readonly Kind[] | undefined>(undefined);
/** Why discovery failed. */
export const kindsError = signal<Error | undefined>(undefined);

const byId = computed(() => new Map((kinds.value ?? []).map((kind) => [kind.id, kind])));

/** By `pods` or `deployments.apps`. */
export const kindOf = (id: string): Kind | undefined => byId.value.get(id);

/** The kind of an object, by its apiVersion and kind. */
export function kindNamed(apiVersion: string, name: string): Kind | undefined {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : '';
  return kinds.value?.find((kind) => kind.kind === name && kind.group === group);
}

/** The kind that a person types: a resource, its singular or short name, its kind, with or without the group. */
export function kindCalled(text: string): Kind | undefined {
  const wanted = text.toLowerCase();
  const all = kinds.value ?? [];
  return (
    all.find(({ id, resource }) => id === wanted || resource === wanted) ??
    all.find(({ singular, shortNames }) => singular === wanted || shortNames.includes(wanted)) ??
    all.find(({ id }) => id.startsWith(wanted))
  );
}

export async function discover(): Promise<void> {
  try {
    const [core, groups] = await Promise.all(
      ['/api', '/apis'].map((path) => ask<Discovered>(path, { accept: aggregated })),
    );
    const found = [...kindsOf(core!), ...kindsOf(groups!)];
    const before = kinds.value;
    // Kept if nothing has changed, so that nothing is drawn again.
    if (!before || JSON.stringify(before.map(fingerprint)) !== JSON.stringify(found.map(fingerprint)))
      kinds.value = found;
    kindsError.value = undefined;
  } catch (error) {
    kindsError.value = error as Error;
  }
}

/** Repeats discovery now and then while the dashboard is visible, because kinds come and go with definitions. */
export function followKinds(): void {
  setInterval(() => document.visibilityState === 'visible' && void discover(), refreshMs);
}

const fingerprint = ({ id, version, verbs }: Kind) => [id, version, [...verbs]];

function kindsOf({ items }: Discovered): Kind[] {
  const found = new Map<string, Kind>();
  for (const { metadata, versions = [] } of items)
    for (const { version, resources = [] } of versions)
      for (const each of resources) {
        const group = metadata?.name ?? '';
        const id = group ? `${each.resource}.${group}` : each.resource;
        // Versions come in order of preference; a later one may have kinds that the first lacks.
        if (found.has(id)) continue;
        const kind = each.responseKind?.kind || each.resource;
        found.set(id, {
          id,
          group,
          version,
          kind,
          resource: each.resource,
          singular: each.singularResource || kind.toLowerCase(),
          namespaced: each.scope === 'Namespaced',
          verbs: new Set(each.verbs),
          shortNames: each.shortNames ?? [],
          subresources: new Set(each.subresources?.map(({ subresource }) => subresource)),
        });
      }
  return [...found.values()];
}

export const apiVersionOf = ({ group, version }: Kind): string => (group ? `${group}/${version}` : version);

/** The path of a collection, an object or a part of one. Without a namespace: all of them. */
export function pathOf(kind: Kind, namespace?: string, name?: string, subresource?: string): string {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const within = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name ? `/${encodeURIComponent(name)}` : '';
  return `${root}${within}/${kind.resource}${object}${subresource ? `/${subresource}` : ''}`;
}
