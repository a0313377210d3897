/** Selectors: who in a namespace means a pod by its labels, without asking every object for its selector anew. */
import { type LabelSelector, type Labels, selectorFromObject } from '../api/labelselector.ts';
import type { ApiObject } from '../api/object.ts';
import type { Entry } from '../registry/entry.ts';

export class Selectors<T extends ApiObject> {
  readonly #namespaces = new Map<string, Map<string, LabelSelector>>();

  /** `read` answers with the selector of an object, undefined when it selects nothing. */
  constructor(private readonly read: (object: T) => LabelSelector | undefined) {}

  /** Takes in how an object is now, and how it was. */
  observe(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    const selector = entry && this.read(entry.object() as T);
    const selectors = this.#namespaces.get(namespace);
    if (selector) {
      if (selectors) selectors.set(name, selector);
      else this.#namespaces.set(namespace, new Map([[name, selector]]));
      return;
    }
    selectors?.delete(name);
    if (selectors?.size === 0) this.#namespaces.delete(namespace);
  }

  /** Names of the objects that select these labels. */
  selecting(namespace: string, labels: Labels | undefined): string[] {
    const names: string[] = [];
    for (const [name, selector] of this.#namespaces.get(namespace) ?? [])
      if (selector.matches(labels)) names.push(name);
    return names;
  }
}

/** A map selector; an empty one selects nothing. */
export const mapSelector = (map: Labels | undefined): LabelSelector | undefined =>
  map && Object.keys(map).length > 0 ? selectorFromObject({ matchLabels: map }) : undefined;
