/**
 * Things made from the kinds of one version, such as its list of resources or its OpenAPI document: made when they are
 * asked for, and again when a kind of that version has come, changed or gone. Other versions keep theirs, so that a
 * kind more costs the same however many there are.
 */
import type { KindTable } from '../../api/kinds.ts';

export class VersionCache<T> {
  readonly #made = new Map<string, { readonly generation: number; readonly value: T }>();
  /** The generation of the table when it was last looked through. */
  #generation = 0;

  constructor(private readonly kinds: KindTable) {}

  /** What was made for a version, or what `make` makes now. Nothing is kept for versions it makes nothing for. */
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
