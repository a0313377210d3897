/**
 * Admission: the checks between a decoded object and the store. The chain reads top to bottom in `chain`; each
 * plugin is a file of its own. A plugin may change a new object (`mutate`) or refuse a write (`validate`).
 */
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import { namespaceLifecycle } from './namespacelifecycle.ts';
import type { Registry } from './registry.ts';

export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete';
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** The part of the object the request addresses; undefined for the object itself. */
  readonly subresource: string | undefined;
  /** The new object; undefined for a delete. */
  readonly object: ApiObject | undefined;
  /** The stored object; undefined for a create. */
  readonly old: ApiObject | undefined;
  readonly dryRun: boolean;
}

export interface AdmissionPlugin {
  readonly name: string;
  mutate?(registry: Registry, request: AdmissionRequest): void | Promise<void>;
  validate?(registry: Registry, request: AdmissionRequest): void | Promise<void>;
}

/** In this order. What comes later sees what came earlier; quota is last, because it counts what will be stored. */
const chain: readonly AdmissionPlugin[] = [namespaceLifecycle];

export async function mutate(registry: Registry, request: AdmissionRequest): Promise<void> {
  for (const plugin of chain) await plugin.mutate?.(registry, request);
}

export async function validate(registry: Registry, request: AdmissionRequest): Promise<void> {
  for (const plugin of chain) await plugin.validate?.(registry, request);
}
