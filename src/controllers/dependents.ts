/**
 * Dependents: for each owner the objects that refer to it, and whether they block its deletion in the foreground. Known
 * from changes, so that neither dependents nor owners are parsed to find out: they may be very long, and very many.
 */
import type { OwnerReference } from '../api/generated/types.ts';

/** The key of an object. */
type Place = string;

export class Dependents {
  /** Places by the owner's uid; true: blocks its deletion. */
  readonly #places = new Map<string, Map<Place, boolean>>();

  add(place: Place, references: readonly OwnerReference[]): void {
    for (const { uid, blockOwnerDeletion = false } of references) {
      if (!uid) continue;
      const known = this.#places.get(uid);
      if (known) known.set(place, blockOwnerDeletion || known.get(place) === true);
      else this.#places.set(uid, new Map([[place, blockOwnerDeletion]]));
    }
  }

  delete(place: Place, references: readonly OwnerReference[]): void {
    for (const { uid = '' } of references) {
      const known = this.#places.get(uid);
      if (!known?.delete(place)) continue;
      if (known.size === 0) this.#places.delete(uid);
    }
  }

  /** All objects that refer to an owner. */
  of(uid: string): Iterable<Place> {
    return this.#places.get(uid)?.keys() ?? [];
  }

  /** Those that block its deletion. */
  *blocking(uid: string): Generator<Place> {
    for (const [place, blocks] of this.#places.get(uid) ?? []) if (blocks) yield place;
  }
}
