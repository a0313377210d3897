/**
 * Hosts of ingresses: a name, `*.` and a name for exactly one label below it, or `''` for any host. These
 * texts are the keys of host tables.
 */

/** The keys to look a host up with, most specific first: itself, its wildcard, any. */
export function hostKeys(host: string): readonly string[] {
  const dot = host.indexOf('.');
  return dot > 0 ? [host, `*${host.slice(dot)}`, ''] : [host, ''];
}

/** The most specific entry for a host. */
export function findHost<T>(table: ReadonlyMap<string, T>, host: string): T | undefined {
  for (const key of hostKeys(host)) {
    const found = table.get(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The entry of a table, created if missing. */
export function entryOf<T>(table: Map<string, T>, key: string, make: () => T): T {
  let entry = table.get(key);
  if (entry === undefined) {
    entry = make();
    table.set(key, entry);
  }
  return entry;
}
