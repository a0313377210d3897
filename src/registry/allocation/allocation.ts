/**
 * Allocation: values that objects of a kind take from a shared pool, such as the cluster IPs of services.
 *
 * It runs between preparation and validation, so that allocated values are validated, too; when allocation fails,
 * validation errors are not reported, as in Kubernetes. A value is *reserved* until its write has ended; from then on
 * the stored object shows that the value is in use.
 */
import type { ResourceId } from '../../api/kind/kind.ts';
import type { Lock } from '../../store/store.ts';
import { type Admission, holdLock } from '../admission/admission.ts';
import type { Registry } from '../registry.ts';
import type { Place } from '../target.ts';
import type { Companion } from './companion.ts';

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
  /** Called after an object is gone, before the write that removed it is answered. */
  removed?(registry: Registry, place: Place, revision: number): Promise<void> | undefined;
  /** The name of the lock under which it decides, where that is not its own: allocators may share a pool. */
  readonly lock?: string;
}

/**
 * Stores an object, and its companion if it has one: both are handed to the store in one tick and share a commit, so
 * the companion costs no time. If the object is not stored, the companion is withdrawn.
 */
export function committed(
  registry: Registry,
  { request, companion, locks }: Admission,
  place: Place,
  value: Buffer | null,
  expected: number,
): Promise<number | undefined> {
  const write = () => registry.commit(request, place, value, expected, locks);
  return companion ? accompanied(companion, place, locks, write) : write();
}

async function accompanied(
  companion: Companion,
  place: Place,
  locks: readonly Lock[] | undefined,
  write: () => Promise<number | undefined>,
): Promise<number | undefined> {
  // Not written: the object has no companion then, which is repaired later.
  const beside = companion.write(place, locks).catch(() => undefined);
  let revision: number | undefined;
  try {
    revision = await write();
  } finally {
    await beside;
    await companion.settled(place, revision !== undefined);
  }
  return revision;
}

/**
 * Allocates for a write and validates it. The reservation is released when validation throws or the write has ended.
 */
export function allocated(registry: Registry, admission: Admission, check: () => void): void | Promise<void> {
  const allocator = registry.allocators.get(admission.target.kind.storage.id);
  if (allocator && registry.store.locks && allocator.takes(admission))
    return allocatedAlone(registry, admission, allocator, check);
  allocate(registry, admission, allocator, check);
}

async function allocatedAlone(
  registry: Registry,
  admission: Admission,
  allocator: Allocator,
  check: () => void,
): Promise<void> {
  const lock = await registry.enter(
    `allocation/${allocator.lock ?? allocator.id}`,
    admission.request.deadlineMs,
  );
  try {
    allocate(registry, admission, allocator, check);
  } catch (error) {
    lock?.leave();
    throw error;
  }
  holdLock(admission, lock);
}

function allocate(
  registry: Registry,
  admission: Admission,
  allocator: Allocator | undefined,
  check: () => void,
): void {
  const release = allocator?.allocate(registry, admission);
  try {
    check();
  } catch (error) {
    release?.();
    throw error;
  }
  if (release) admission.afterwards.push(release);
}
