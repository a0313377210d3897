/** Names of kinds for people. */
import type { Kind } from '../core/kinds.ts';

/** `StorageClasses` for `storageclasses`: the resource, in the capitals of the kind. */
export function pluralOf({ kind, resource }: Kind): string {
  let common = 0;
  while (common < kind.length && kind[common]!.toLowerCase() === resource[common]) common++;
  return kind.slice(0, common) + resource.slice(common);
}
