/** Namespace: a scope for names. Deleting one deletes all that is in it. */
import type { Namespace } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { labelName } from '../names.ts';

export const namespace = defineKind<Namespace>({
  kind: 'Namespace',
  resource: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  nameRule: labelName,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [{ name: 'finalize', verbs: ['update'] }, statusSubresource],
  deleteReturnsObject: true,

  prepareForCreate(namespace) {
    namespace.status = { phase: 'Active' };
    const finalizers = namespace.spec?.finalizers ?? [];
    namespace.spec = {
      finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
    };
  },

  prepareForUpdate(namespace, old) {
    namespace.spec = { ...namespace.spec, finalizers: old.spec?.finalizers };
  },

  selectableFields: { 'status.phase': (namespace) => namespace.status?.phase ?? '' },
});
