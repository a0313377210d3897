/**
 * Admission: the checks between a decoded object and the store. The chain reads top to bottom in `chain`; each
 * plugin is a file of its own. A plugin may change a new object (`mutate`) or refuse a write (`validate`).
 */
import type { ApiObject } from '../../api/object.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import { certificateApproval } from './certificateapproval.ts';
import { certificateSigning } from './certificatesigning.ts';
import { certificateSubjectRestriction } from './certificatesubjectrestriction.ts';
import { defaultTolerations } from './defaulttolerations.ts';
import { limitRanger } from './limitranger.ts';
import { namespaceLifecycle } from './namespacelifecycle.ts';
import { priority } from './priority.ts';
import { resourceQuota } from './resourcequota.ts';
import { serviceAccountAdmission } from './serviceaccountadmission.ts';
import { storageProtection } from './storageprotection.ts';

/** A write on its way through the chain. */
export interface Admission {
  /** Who writes, and how. */
  readonly request: Request;
  /** What is written. With `generateName`, the name is set only after the mutating plugins have run. */
  readonly target: Target;
  readonly operation: 'create' | 'update' | 'delete';
  /** The new object; undefined for a delete. */
  readonly object: ApiObject | undefined;
  /** The stored object; undefined for a create. */
  readonly old: ApiObject | undefined;
  /**
   * Called when the write has failed, or has succeeded and is in the view. Plugins release their reservations here.
   */
  readonly afterwards: ((stored: boolean) => void)[];
}

export interface AdmissionPlugin {
  readonly name: string;
  mutate?(registry: Registry, admission: Admission): void | Promise<void>;
  validate?(registry: Registry, admission: Admission): void | Promise<void>;
}

/**
 * The order in which plugins run: each sees the changes of those before it. Quota is last, because it counts the
 * final object.
 */
const chain: readonly AdmissionPlugin[] = [
  namespaceLifecycle,
  limitRanger,
  serviceAccountAdmission,
  priority,
  defaultTolerations,
  storageProtection,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  resourceQuota,
];

export async function mutate(registry: Registry, admission: Admission): Promise<void> {
  for (const plugin of chain) {
    // Most plugins return synchronously: an await for each would cost a microtask for nothing.
    const waiting = plugin.mutate?.(registry, admission);
    if (waiting) await waiting;
  }
}

/**
 * Validates a write, carries it out, and calls the `afterwards` callbacks of the plugins. `write` returns undefined
 * when another writer changed the object first.
 */
export async function admitted<T>(
  registry: Registry,
  admission: Admission,
  write: () => Promise<T | undefined>,
): Promise<T | undefined> {
  let stored = false;
  try {
    for (const plugin of chain) {
      const waiting = plugin.validate?.(registry, admission);
      if (waiting) await waiting;
    }
    const result = await write();
    stored = result !== undefined && !admission.request.dryRun;
    return result;
  } finally {
    for (const callback of admission.afterwards) callback(stored);
  }
}
