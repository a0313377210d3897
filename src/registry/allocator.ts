/** An allocator gives objects of one kind values from a shared pool; `allocation/` calls it. */
import type { ResourceId } from '../api/kind/kind.ts';
import type { Admission } from './admission-chain.ts';
import type { Registry } from './registry.ts';
import type { Removal } from './removal.ts';

export interface Allocator {
  /** The kind whose objects get values. */
  readonly id: ResourceId;
  /**
   * Fills in the allocated values, or throws. Synchronous: between finding a free value and reserving it no other
   * write may run. Returns a function that releases the reservation, if there is one.
   */
  allocate(registry: Registry, admission: Admission): (() => void) | undefined;
  /**
   * Whether `allocate` may take a value for this write. If so, and several servers share the store, a lock is needed.
   */
  takes(admission: Admission): boolean;
  readonly removed?: Removal<Registry>['removed'];
  /** The name of the lock, if it is shared with other allocators of the same pool. Default: a lock of its own. */
  readonly lock?: string;
}
