/** Actions that run when an object of a kind has been removed, before the request is answered. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Place } from './target.ts';

/** `Tools` is what the action works with: a registry, or everything needed to write. */
export interface Removal<Tools> {
  /** The kind whose objects it follows. */
  readonly id: ResourceId;
  removed(tools: Tools, place: Place, revision: number): Promise<void>;
}
