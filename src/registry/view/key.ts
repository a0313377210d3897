/** Store keys: `<group>/<resource>`, namespace and name as segments; the namespace is empty for cluster kinds. */
import type { ResourceId } from '../../api/kind/kind.ts';
import { SEPARATOR } from '../../store/store.ts';

export interface KeyParts {
  readonly id: ResourceId;
  readonly namespace: string;
  readonly name: string;
}

export const storeKey = (id: ResourceId, namespace: string, name: string): string =>
  id + SEPARATOR + namespace + SEPARATOR + name;

/** The key of an object within its collection: namespace and name. */
export const memberKey = (namespace: string, name: string): string => namespace + SEPARATOR + name;

/** Sorts behind every key that begins with these segments and a separator. */
export const endOfKeys = (segments: string): string => segments + afterSeparator;

const afterSeparator = String.fromCharCode(SEPARATOR.charCodeAt(0) + 1);

export function parseStoreKey(key: string): KeyParts {
  const first = key.indexOf(SEPARATOR);
  const second = key.indexOf(SEPARATOR, first + 1);
  return {
    id: key.slice(0, first) as ResourceId,
    namespace: key.slice(first + 1, second),
    name: key.slice(second + 1),
  };
}

/** Also splits text that is no valid member key, such as a position from a continue token. */
export function parseMemberKey(key: string): { namespace: string; name: string } {
  const end = key.indexOf(SEPARATOR);
  return end < 0 ? { namespace: key, name: '' } : { namespace: key.slice(0, end), name: key.slice(end + 1) };
}
