/** What can be listed of another cluster, as its discovery says. */
import { StatusError } from '../../api/errors/errors.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import type { SourceClient } from './source-client.ts';

const groupsMax = 2_000;

export interface SourceKind {
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  /** The resource, such as `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly singular: string | undefined;
  readonly shortNames: readonly string[];
  /** Whether its changes can be watched. */
  readonly isWatched: boolean;
}

/** The same objects in another group, and answers that are worked out. */
const elsewhere: ReadonlySet<string> = new Set(['events.k8s.io', 'metrics.k8s.io', 'custom.metrics.k8s.io']);
/** Read first, in this order: other objects need them. */
const first = ['customresourcedefinitions', 'namespaces'];

/** `pods`, `deployments.apps`. */
export const sourceName = ({ resource, group }: SourceKind): string =>
  group ? `${resource}.${group}` : resource;

export const isDefinitions = ({ resource, group }: SourceKind): boolean =>
  resource === 'customresourcedefinitions' && group === 'apiextensions.k8s.io';

/** Where the objects of a kind are listed and watched. */
export function sourcePath(kind: SourceKind, namespace?: string): string {
  const root = kind.group ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${kind.resource}`;
}

/** Every resource that can be listed, in the version that its server prefers. */
export async function sourceKinds(
  client: SourceClient,
  refused: (what: string, why: string) => void,
): Promise<SourceKind[]> {
  const groups = listOf(await client.get('/apis'), 'groups').slice(0, groupsMax);
  const versions = groups.flatMap(({ preferredVersion }) =>
    isJsonObject(preferredVersion) ? [String(preferredVersion['groupVersion'])] : [],
  );
  const kinds: SourceKind[] = [];
  for (const apiVersion of ['v1', ...versions]) {
    if (elsewhere.has(apiVersion.split('/')[0]!)) continue;
    try {
      const list = await client.get(apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`);
      kinds.push(...listOf(list, 'resources').flatMap((one) => kindOf(apiVersion, one)));
    } catch (error) {
      // A server behind an aggregated version may be down.
      if (!(error instanceof StatusError)) throw error;
      refused(apiVersion, error.message);
    }
  }
  const rank = ({ resource }: SourceKind): number =>
    (first.indexOf(resource) + first.length + 1) % (first.length + 1);
  return kinds.sort((a, b) => rank(a) - rank(b));
}

function listOf(value: unknown, member: string): JsonObject[] {
  const list = isJsonObject(value) ? value[member] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function kindOf(apiVersion: string, one: JsonObject): SourceKind[] {
  const { name, kind, verbs, namespaced, singularName, shortNames } = one;
  const isListed =
    Array.isArray(verbs) && verbs.includes('list') && typeof name === 'string' && !name.includes('/');
  if (!isListed || typeof kind !== 'string' || name === 'componentstatuses') return [];
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return [
    {
      group: group!,
      version: version!,
      apiVersion,
      resource: name,
      kind,
      namespaced: namespaced === true,
      singular: typeof singularName === 'string' && singularName ? singularName : undefined,
      shortNames: Array.isArray(shortNames) ? shortNames.filter((short) => typeof short === 'string') : [],
      isWatched: verbs.includes('watch'),
    },
  ];
}
