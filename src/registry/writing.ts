/**
 * Writing: what the writing verbs need besides the registry: admission, allocators and limits. A server makes one at
 * its start, and it never changes.
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
 * For which writes `metadata.managedFields` is kept. `all`: every write. `applied`: writes of objects that were applied
 * at least once. `off`: only applies.
 */
export type ManagedFieldsMode = 'all' | 'applied' | 'off';

export interface Writing {
  readonly registry: Registry;
  readonly admission: AdmissionChain;
  /** The authorizer, for admission plugins and access reviews. */
  readonly authorizer: Authorizer;
  readonly allocators: ReadonlyMap<ResourceId, Allocator>;
  readonly finalizing: Finalizing;
  /** Which writes are tracked in `metadata.managedFields`. */
  readonly managedFields: ManagedFieldsMode;
  readonly allowance: Allowance;
  /** Serializes concurrent writes of one object. */
  readonly keyQueue: KeyQueue;
}

/** The parts that admission plugins are made with. */
export type AdmissionParts = Pick<Writing, 'registry' | 'authorizer' | 'finalizing'>;

interface WritingParts extends Omit<RegistryParts, 'removals'> {
  /** Makes the admission chain. */
  readonly admission: (parts: AdmissionParts) => AdmissionChain;
  /** Default: every user may do everything. */
  readonly authorizer?: Authorizer;
  readonly allocators?: readonly Allocator[];
  /** Actions after removals, besides those of allocators and namespaces. */
  readonly removals?: readonly Removal<Writing>[];
  readonly finalizing?: Finalizing;
  /** Default: all. */
  readonly managedFields?: ManagedFieldsMode;
  /** Exceptions from the rules of kinds. Default: none. */
  readonly allowance?: Allowance;
}

/** Makes a registry, and everything needed to write to it. */
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
