/**
 * Allocation: values that objects of a kind take from a pool they share, such as the addresses of services.
 *
 * It comes between preparation and validation: what was taken is validated with the rest, and an allocation that
 * fails hides what validation would say, as in Kubernetes. What a write takes is *reserved* until the write is
 * over; from then on the stored object itself says that it is taken.
 */
import type { ResourceId } from '../../api/kind.ts';
import type { Admission } from '../admission/admission.ts';
import type { Registry } from '../registry.ts';
import type { Place } from '../target.ts';

export interface Allocator {
  /** The kind whose objects it serves. */
  readonly id: ResourceId;
  /**
   * Fills in what the object takes, or throws. Never waits: between finding something free and reserving it
   * nobody else may get a turn. Answers with how to give up what was reserved, if anything was.
   */
  allocate(registry: Registry, admission: Admission): (() => void) | undefined;
  /** Called after an object is gone, before the write that removed it is answered. */
  removed?(registry: Registry, place: Place): Promise<void> | undefined;
}

/** Allocates for a write and checks it. What was reserved is given up when the check throws or the write is over. */
export function allocated(registry: Registry, admission: Admission, check: () => void): void {
  const release = registry.allocators.get(admission.target.kind.storage.id)?.allocate(registry, admission);
  try {
    check();
  } catch (error) {
    release?.();
    throw error;
  }
  if (release) admission.afterwards.push(release);
}
