/** What is done when an object of a kind is gone, before the write that removed it is answered. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Place } from './target.ts';

/** `Tools` is what it works with: a registry, or all that is needed to write. */
export interface Removal<Tools> {
  /** The kind whose objects it follows. */
  readonly id: ResourceId;
  removed(tools: Tools, place: Place, revision: number): Promise<void>;
}
