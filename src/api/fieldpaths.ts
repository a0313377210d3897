/** Paths of fields in a document, such as `spec.containers[0].name`, in the order in which they stand there. */

/** The paths in document order; those that are not in the document come last. */
export function documentOrder(value: unknown, paths: readonly string[]): string[] {
  const left = new Set(paths);
  const ordered: string[] = [];
  visit(value, '', left, ordered);
  return [...ordered, ...left];
}

function visit(value: unknown, path: string, left: Set<string>, ordered: string[]): void {
  if (left.delete(path)) ordered.push(path);
  if (typeof value !== 'object' || value === null || !leadsOn(path, left)) return;
  if (Array.isArray(value))
    for (const [i, item] of value.entries()) visit(item, `${path}[${i}]`, left, ordered);
  else
    for (const [name, inner] of Object.entries(value))
      visit(inner, path ? `${path}.${name}` : name, left, ordered);
}

/** Whether one of the paths is below this one; most of a document need not be walked. */
function leadsOn(path: string, left: ReadonlySet<string>): boolean {
  for (const one of left) if (one.startsWith(path)) return true;
  return false;
}
