/**
 * Caches values made from the kinds of one version, such as its list of resources or its OpenAPI document. A value is
 * rebuilt on request after a kind of that version was added, replaced or removed; other versions keep theirs, so the
 * cost of adding a kind does not depend on how many kinds there are.
 */
import type { KindTable } from '../../api/kinds/kinds.ts';

export class VersionCache<T> {
  readonly #made = new Map<string, { readonly generation: number; readonly value: T }>();
  /** The generation of the table at the last check. */
  #generation = 0;

  constructor(private readonly kinds: KindTable) {}

  /** The cached value of a version, or what `make` returns. An undefined value is not cached. */
  get(apiVersion: string, make: () => T | undefined): T | undefined {
    this.#forgetOld();
    const known = this.#made.get(apiVersion);
    if (known) return known.value;
    const value = make();
    if (value !== undefined)
      this.#made.set(apiVersion, { generation: this.kinds.generationOf(apiVersion), value });
    return value;
  }

  #forgetOld(): void {
    const { generation } = this.kinds;
    if (this.#generation === generation) return;
    this.#generation = generation;
    for (const [apiVersion, made] of this.#made)
      if (made.generation !== this.kinds.generationOf(apiVersion)) this.#made.delete(apiVersion);
  }
}
