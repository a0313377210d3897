/**
 * Writing: what the verbs that write are handed beside the registry: admission, allocators and limits. A server makes one
 * at its start, and it never changes.
 */
import { type Authorizer, allowAll } from '../api/kind/access.ts';
import type { ResourceId } from '../api/kind/kind.ts';
import type { KindTable } from '../api/kinds/kinds.ts';
import type { Store } from '../store/store.ts';
import type { AdmissionChain } from './admission-chain.ts';
import type { Allocator } from './allocator.ts';
import { type Finalizing, fullFinalizing } from './finalizing.ts';
import { KeyQueue } from './key-queue.ts';
import { namespaceRemoval } from './namespace-remains.ts';
import { Registry, type RegistryParts, type Sources } from './registry.ts';
import type { Removal } from './removal.ts';
import type { Allowance } from './validation.ts';
import type { View } from './view/view.ts';

/**
 * Which writes are tracked. `all`: every write. `applied`: those of objects that were applied once. `off`: only
 * applies.
 */
export type ManagedFieldsMode = 'all' | 'applied' | 'off';

export interface Writing {
  readonly registry: Registry;
  readonly admission: AdmissionChain;
  /** Says what users may do, to plugins of admission and to reviews. */
  readonly authorizer: Authorizer;
  readonly allocators: ReadonlyMap<ResourceId, Allocator>;
  readonly finalizing: Finalizing;
  /** Which writes are tracked in `metadata.managedFields`. */
  readonly managedFields: ManagedFieldsMode;
  readonly allowance: Allowance;
  /** Writes of one object wait for each other here. */
  readonly keyQueue: KeyQueue;
}

/** What plugins of admission are made with. */
export type AdmissionParts = Pick<Writing, 'registry' | 'authorizer' | 'finalizing'>;

interface WritingParts extends Omit<RegistryParts, 'removals'> {
  /** Makes what may change or refuse a write. */
  readonly admission: (parts: AdmissionParts) => AdmissionChain;
  /** Default: everybody may do everything. */
  readonly authorizer?: Authorizer;
  readonly allocators?: readonly Allocator[];
  /** What is done after removals, beside what allocators and namespaces do. */
  readonly removals?: readonly Removal<Writing>[];
  readonly finalizing?: Finalizing;
  /** Default: all. */
  readonly managedFields?: ManagedFieldsMode;
  /** Default: nothing beyond the rules of kinds. */
  readonly allowance?: Allowance;
}

/** Makes a registry, and all that is needed to write to it. */
export function makeWriting(
  store: Store,
  view: View,
  kinds: KindTable,
  sources: Sources,
  {
    admission,
    authorizer = allowAll,
    allocators = [],
    finalizing = fullFinalizing,
    managedFields = 'all',
    allowance = { privileged: false },
    removals = [],
    selfLinks,
    timers,
    onCommit,
  }: WritingParts,
): Writing {
  const allocating = allocators.filter(
    (allocator): allocator is Allocator & Removal<Registry> => !!allocator.removed,
  );
  const writingRemovals = removals.map(
    ({ id, removed }): Removal<Registry> => ({ id, removed: (_, ...gone) => removed(writing, ...gone) }),
  );
  const registry = new Registry(store, view, kinds, sources, {
    removals: [namespaceRemoval, ...allocating, ...writingRemovals],
    selfLinks,
    timers,
    onCommit,
  });
  const writing: Writing = Object.freeze({
    registry,
    admission: admission({ registry, authorizer, finalizing }),
    authorizer,
    allocators: new Map(allocators.map((allocator) => [allocator.id, allocator])),
    finalizing,
    managedFields,
    allowance,
    keyQueue: new KeyQueue(),
  });
  return writing;
}
