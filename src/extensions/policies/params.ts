/** The parameters of a policy: objects of a kind that its binding names or selects. */
import { anyJson } from '../../api/cel/json-values.ts';
import type { Value } from '../../api/cel/values/values.ts';
import type { ParamKind, ParamRef } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { type LabelSelectorObject, selectorFromObject } from '../../api/kind/label-selector.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Filter } from '../../registry/view/filter.ts';

/** Maximum number of objects that one binding may select; the whole policy runs for each. */
const paramsMax = 1000;

/** A policy or binding that cannot be used as it is. */
export class ConfigurationProblem extends Error {
  override readonly name = 'ConfigurationProblem';
}

/** The kind of the parameters. Throws when there is no such kind. */
export function paramKindOf(registry: Registry, { apiVersion = '', kind = '' }: ParamKind): Kind {
  const { kinds } = registry;
  const found = kinds.kind(apiVersion, kind);
  if (found && (found.custom || kinds.serves(apiVersion, found.resource))) return kinds.shown(found);
  const slash = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  throw new ConfigurationProblem(
    `failed to configure policy: failed to find resource referenced by paramKind: '${slash}, Kind=${kind}'`,
  );
}

/**
 * The parameters for which a policy runs, once for each; empty: it does not run at all.
 * @param namespace of the write; '' for cluster-scoped objects
 */
export async function paramsOf(
  registry: Registry,
  kind: Kind,
  ref: ParamRef | undefined,
  namespace: string,
): Promise<readonly Value[]> {
  // Without a reference the policy runs once, and its parameter is null.
  if (!ref) return [null];
  const problem = (text: string): ConfigurationProblem =>
    new ConfigurationProblem(`failed to configure binding: ${text}`);
  if (ref.namespace && !kind.namespaced)
    throw problem('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const place = kind.namespaced ? ref.namespace || namespace : '';
  if (kind.namespaced && !place)
    throw problem('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  const entries = found(registry, kind, ref, place).slice(0, paramsMax);
  if (entries.length === 0) {
    if (ref.parameterNotFoundAction === 'Allow') return [];
    throw problem('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return Promise.all(entries.map((entry) => paramValue(entry, kind)));
}

function found(
  registry: Registry,
  kind: Kind,
  { name, selector }: ParamRef,
  namespace: string,
): readonly Entry[] {
  const collection = registry.view.findCollection(kind.storage.id);
  if (!collection) return [];
  if (name) {
    const entry = collection.get(namespace, name);
    return entry ? [entry] : [];
  }
  const labels = selectorFromObject((selector ?? {}) as LabelSelectorObject);
  return collection.select(new Filter(namespace || undefined, undefined, labels, undefined)).entries;
}

async function paramValue(entry: Entry, kind: Kind): Promise<Value> {
  if (entry.isReadableAs(kind)) return anyJson(entry.object(kind));
  const [object] = (await kind.conversion?.convert([entry.stored()], kind)) ?? [];
  return anyJson(object ?? null);
}
