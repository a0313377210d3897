/**
 * Hosts of ingresses: a name, `*.` and a name for each one label below it, or `''` for any host at all. Tables of
 * them are maps with these texts as keys.
 */

/** The keys a host is found under, best first: itself, the wildcard it is below, any. */
export function hostKeys(host: string): readonly string[] {
  const dot = host.indexOf('.');
  return dot > 0 ? [host, `*${host.slice(dot)}`, ''] : [host, ''];
}

/** The best entry for a host. */
export function findHost<T>(table: ReadonlyMap<string, T>, host: string): T | undefined {
  for (const key of hostKeys(host)) {
    const found = table.get(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The entry of a table, made when there is none. */
export function entryOf<T>(table: Map<string, T>, key: string, make: () => T): T {
  let entry = table.get(key);
  if (entry === undefined) {
    entry = make();
    table.set(key, entry);
  }
  return entry;
}
