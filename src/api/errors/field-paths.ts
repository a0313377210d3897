/** Fields of a document that Kubernetes reports, in the order in which its decoder meets them. */
import type { Duplicate } from '../text/json.ts';

/**
 * One finding for each duplicate and each unknown field, by path, such as `unknown field "spec.containers[0].nmae"`. A
 * duplicate is met where its key stands for the second time. Fields that are not in the document come last.
 */
export function findingsInOrder(
  document: unknown,
  duplicates: readonly Duplicate[],
  unknown: readonly string[],
): string[] {
  if (duplicates.length && unknown.length) return new Walk(duplicates, unknown).findings(document);
  return [...duplicates.map(({ path }) => duplicateField(path)), ...unknown.map(unknownField)];
}

const duplicateField = (path: string): string => `duplicate field "${path}"`;
const unknownField = (path: string): string => `unknown field "${path}"`;

class Walk {
  readonly #unknown: Set<string>;
  readonly #duplicates = new Set<string>();
  /** The duplicates behind each path. */
  readonly #behind = new Map<string, string[]>();
  readonly #findings: string[] = [];

  constructor(duplicates: readonly Duplicate[], unknown: readonly string[]) {
    this.#unknown = new Set(unknown);
    for (const { path, after } of duplicates) {
      this.#duplicates.add(path);
      const behind = this.#behind.get(after);
      if (behind) behind.push(path);
      else this.#behind.set(after, [path]);
    }
  }

  findings(document: unknown): string[] {
    this.#visit(document, '');
    return [
      ...this.#findings,
      ...[...this.#duplicates].map(duplicateField),
      ...[...this.#unknown].map(unknownField),
    ];
  }

  #visit(value: unknown, path: string): void {
    if (this.#unknown.delete(path)) this.#findings.push(unknownField(path));
    if (typeof value === 'object' && value !== null && this.#leadsOn(path)) this.#visitParts(value, path);
    for (const duplicate of this.#behind.get(path) ?? [])
      if (this.#duplicates.delete(duplicate)) this.#findings.push(duplicateField(duplicate));
  }

  #visitParts(value: object, path: string): void {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) this.#visit(item, `${path}[${i}]`);
    else
      for (const [name, inner] of Object.entries(value)) this.#visit(inner, path ? `${path}.${name}` : name);
  }

  /** Whether a field to be found is below this path; most of a document need not be walked. */
  #leadsOn(path: string): boolean {
    for (const one of this.#unknown) if (one.startsWith(path)) return true;
    for (const one of this.#duplicates) if (one.startsWith(path)) return true;
    return false;
  }
}
