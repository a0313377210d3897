/**
 * Admission: the checks between a decoded object and the store. The chain reads top to bottom in `chain`; each
 * plugin is a file of its own. A plugin may change a new object (`mutate`) or refuse a write (`validate`).
 */
import type { ApiObject } from '../../api/object.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
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
  /** What is written. Objects whose names are generated have none until they may no longer be changed. */
  readonly target: Target;
  readonly operation: 'create' | 'update' | 'delete';
  /** The new object; undefined for a delete. */
  readonly object: ApiObject | undefined;
  /** The stored object; undefined for a create. */
  readonly old: ApiObject | undefined;
  /** Called when the write is over, and the view shows it if it succeeded. For what was reserved until then. */
  readonly afterwards: ((stored: boolean) => void)[];
}

export interface AdmissionPlugin {
  readonly name: string;
  mutate?(registry: Registry, admission: Admission): void | Promise<void>;
  validate?(registry: Registry, admission: Admission): void | Promise<void>;
}

/** In this order. What comes later sees what came earlier; quota is last, because it counts what will be stored. */
const chain: readonly AdmissionPlugin[] = [
  namespaceLifecycle,
  limitRanger,
  serviceAccountAdmission,
  priority,
  defaultTolerations,
  storageProtection,
  resourceQuota,
];

export async function mutate(registry: Registry, admission: Admission): Promise<void> {
  for (const plugin of chain) {
    // Most have nothing to wait for, and waiting for nothing has its price too.
    const waiting = plugin.mutate?.(registry, admission);
    if (waiting) await waiting;
  }
}

/**
 * Validates a write, carries it out, and tells those who reserved something for it how it ended. A write that
 * answers undefined has lost against another writer.
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
