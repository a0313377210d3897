/** What is done when an object of a kind is gone, before the write that removed it is answered. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Registry } from './registry.ts';
import type { Place } from './target.ts';

export interface Removal {
  /** The kind whose objects it follows. */
  readonly id: ResourceId;
  removed(registry: Registry, place: Place, revision: number): Promise<void>;
}
