/** An allocator gives objects of one kind values from a pool that they share; `allocation/` says when it is asked. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Admission } from './admission-chain.ts';
import type { Registry } from './registry.ts';
import type { Removal } from './removal.ts';

export interface Allocator {
  /** The kind whose objects it serves. */
  readonly id: ResourceId;
  /**
   * Fills in the allocated values, or throws. Synchronous: between finding a free value and reserving it no other
   * write may run. Returns a function that releases the reservation, if there is one.
   */
  allocate(registry: Registry, admission: Admission): (() => void) | undefined;
  /** Whether `allocate` may take a value for a write: where several servers share the store, one at a time may. */
  takes(admission: Admission): boolean;
  readonly removed?: Removal<Registry>['removed'];
  /** The name of the lock under which it decides, where that is not its own: allocators may share a pool. */
  readonly lock?: string;
}
