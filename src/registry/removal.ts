/** What is done when an object of a kind is gone, before the write that removed it is answered. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Place } from './target.ts';

/** `Hands` is what it works with: a registry, or all that is needed to write. */
export interface Removal<Hands> {
  /** The kind whose objects it follows. */
  readonly id: ResourceId;
  removed(hands: Hands, place: Place, revision: number): Promise<void>;
}
