/** Store keys: `<resource> <namespace> <name>` in segments; the namespace segment is empty for cluster kinds. */
import { SEPARATOR } from '../store/store.ts';

/** The first key after all that begin with `prefix` and a separator. */
const AFTER = '\u0001';

export interface KeyParts {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export const storeKey = (resource: string, namespace: string, name: string): string =>
  resource + SEPARATOR + namespace + SEPARATOR + name;

/** Within a collection an object is known by namespace and name. */
export const memberKey = (namespace: string, name: string): string => namespace + SEPARATOR + name;

export function parseStoreKey(key: string): KeyParts {
  const first = key.indexOf(SEPARATOR);
  const second = key.indexOf(SEPARATOR, first + 1);
  return {
    resource: key.slice(0, first),
    namespace: key.slice(first + 1, second),
    name: key.slice(second + 1),
  };
}

/** The members of one namespace, or of all when it is undefined: from `start` up to but not including `end`. */
export function memberRange(namespace: string | undefined): { start: string; end: string | undefined } {
  if (namespace === undefined) return { start: '', end: undefined };
  return { start: namespace + SEPARATOR, end: namespace + AFTER };
}
