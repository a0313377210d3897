/** Which object is meant: by an object itself, or by a short text such as `Deployment/web`. */
import type { Kind } from '../../api/kind/kind.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Place } from '../../registry/target.ts';

/**
 * An object, or what names it: `{ kind, metadata: { name, namespace } }`, or `Kind/name` and `Kind/namespace/name`. The
 * kind may be written as `Pod` or `pods`; the namespace is `default` where none is named.
 */
export type ObjectName =
  | string
  | {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly metadata?: { readonly name?: string; readonly namespace?: string };
    };

/** Throws a sentence when no object can be meant. */
export function placeOf(registry: Registry, object: ObjectName): Place {
  const { apiVersion, kind, namespace, name } =
    typeof object === 'string' ? ofText(object) : ofObject(object);
  const found = kindNamed(registry, kind, apiVersion);
  if (!found)
    throw new Error(`there is no kind ${apiVersion ? `${apiVersion} ` : ''}${JSON.stringify(kind)}`);
  if (!name)
    throw new Error(`${JSON.stringify(object)} names no object: write Kind/name or Kind/namespace/name`);
  return { kind: found, namespace: found.namespaced ? (namespace ?? 'default') : '', name };
}

interface Named {
  readonly apiVersion: string | undefined;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

function ofText(text: string): Named {
  const [kind = '', ...rest] = text.split('/');
  const [namespace, name] = rest.length > 1 ? rest : [undefined, rest[0]];
  return { apiVersion: undefined, kind, namespace, name };
}

function ofObject({ apiVersion, kind = '', metadata = {} }: Exclude<ObjectName, string>): Named {
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
}

function kindNamed(registry: Registry, name: string, apiVersion: string | undefined): Kind | undefined {
  if (apiVersion !== undefined)
    return registry.kinds.kind(apiVersion, name) ?? registry.kinds.resource(apiVersion, name);
  const wanted = name.toLowerCase();
  const named = ({ kind, resource }: Kind): boolean => kind.toLowerCase() === wanted || resource === wanted;
  return [...registry.kinds.stored()].find(named);
}
