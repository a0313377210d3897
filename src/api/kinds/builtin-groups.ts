/** Finds built-in groups and versions, and what their forms say. */
import { type Group, type GroupVersion, wordOf } from '../kind/group.ts';
import type { Kind } from '../kind/kind.ts';
import { type Model, modelOf } from '../model/model.ts';
import { groups } from './groups.ts';

const byName: ReadonlyMap<string, Group> = new Map(groups.map((group) => [group.name, group]));
const byWord: ReadonlyMap<string, Group> = new Map(groups.map((group) => [wordOf(group.name), group]));

/** `apps/v1` → `['apps', 'v1']`; the core has no name. */
function parts(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf('/');
  return [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
}

/** A group by its full name: `coordination.k8s.io`, '' for the core. */
export const groupNamed = (name: string): Group | undefined => byName.get(name);

/** Whether objects of a group are served; those of some groups are only sent to other servers, such as webhooks. */
export const isServedGroup = (name: string): boolean => groupNamed(name)?.priority !== undefined;

/** A version by its full name: `v1`, `apps/v1`. */
export function versionNamed(apiVersion: string): GroupVersion | undefined {
  const [name, version] = parts(apiVersion);
  const versions = groupNamed(name)?.versions;
  return versions && Object.hasOwn(versions, version) ? versions[version] : undefined;
}

/** The kinds of a version whose objects are worked out when they are read. */
export const computedKinds = (apiVersion: string): readonly Kind[] =>
  groupNamed(parts(apiVersion)[0])?.computedKinds?.filter((kind) => kind.apiVersion === apiVersion) ?? [];

/** The model of a body that is not of a stored kind. */
export function bodyModel(apiVersion: string, kind: string): Model | undefined {
  const body = versionNamed(apiVersion)?.bodies?.find((ref) => ref.slice(ref.indexOf(':') + 1) === kind);
  if (body === undefined) return undefined;
  const [group, version] = parts(apiVersion);
  return modelOf(body, `${wordOf(group)}-${version}`);
}

/** The package of the types of a table in OpenAPI documents: `io.k8s.api.apps.v1`. */
export function packageOf(table: string): string {
  const [word, version] = table.split('-') as [string, string];
  return `${byWord.get(word)?.package ?? `io.k8s.api.${word}`}.${version}`;
}
