/**
 * Allocation: values that objects of a kind take from a shared pool, such as the cluster IPs of services.
 *
 * It runs between preparation and validation, so that allocated values are validated, too; when allocation fails,
 * validation errors are not reported, as in Kubernetes. A value is *reserved* until its write has ended; from then on
 * the stored object shows that the value is in use.
 */
import type { Lock } from '../../store/store.ts';
import { type Admission, holdLock } from '../admission-chain.ts';
import type { Allocator } from '../allocator.ts';
import type { Companion } from '../companion.ts';
import type { Registry } from '../registry.ts';
import type { Place } from '../target.ts';
import type { Writing } from '../writing.ts';

/**
 * Stores an object, and its companion if it has one: both go to the store in one tick and share a commit, so the
 * companion costs no extra time. If the object is not stored, the companion is removed again.
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
  // Ignored: the object then lacks its companion, which a controller repairs later.
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
export function allocated(
  { registry, allocators }: Pick<Writing, 'registry' | 'allocators'>,
  admission: Admission,
  check: () => void,
): void | Promise<void> {
  const allocator = allocators.get(admission.target.kind.storage.id);
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
