/** Namespace: a scope for names. Deleting one deletes all that is in it. */
import { index, invalid } from '../../errors/field-error.ts';
import type { Namespace } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { unqualifiedProblems } from '../../kind/meta.ts';
import { finalize, status } from '../../kind/subresource.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isLabel1123, isQualifiedName, labelName } from '../../values/names.ts';

const nameLabel = 'kubernetes.io/metadata.name';

/** Namespace selectors rely on this label, so clients cannot change it. An invalid name is refused later. */
function labelWithName({ metadata }: Namespace): void {
  if (!metadata.name || isLabel1123(metadata.name).length) return;
  metadata.labels ??= {};
  metadata.labels[nameLabel] = metadata.name;
}

/** Kubernetes' errors name the index for the finalize subresource only. */
function* finalizerErrors(finalizers: readonly string[] | undefined, indexed: boolean): Findings {
  for (const [i, finalizer] of (finalizers ?? []).entries()) {
    const path = indexed ? index('spec.finalizers', i) : 'spec.finalizers';
    yield* problemsOf(path, finalizer, [...isQualifiedName(finalizer), ...unqualifiedProblems(finalizer)]);
  }
}

export const namespace = defineKind<Namespace>({
  kind: 'Namespace',
  resource: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  nameRule: labelName,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [
    finalize({ validate: (namespace) => collect(finalizerErrors(namespace.spec?.finalizers, true)) }),
    status({
      validate({ metadata, status }) {
        const phase = status?.phase ?? '';
        if (!metadata.deletionTimestamp && phase !== 'Active')
          return [invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")];
        if (metadata.deletionTimestamp && phase !== 'Terminating')
          return [
            invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
          ];
        return [];
      },
    }),
  ],

  // Runs on every write, also of the status and the finalizers.
  defaults(namespace) {
    labelWithName(namespace);
    namespace.status = { ...namespace.status, phase: namespace.status?.phase || 'Active' };
  },

  prepareForCreate(namespace) {
    // A generated name is known only now.
    labelWithName(namespace);
    namespace.status = { phase: 'Active' };
    const finalizers = namespace.spec?.finalizers ?? [];
    namespace.spec = {
      finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
    };
  },

  prepareForUpdate(namespace, old) {
    namespace.spec = { ...namespace.spec, finalizers: old.spec?.finalizers };
  },

  validate: (namespace) => collect(finalizerErrors(namespace.spec?.finalizers, false)),
  deletion: {
    returnsObject: true,
    mark(namespace) {
      namespace.status = { ...namespace.status, phase: 'Terminating' };
    },
    isHeld: ({ spec }) => Boolean(spec?.finalizers?.length),
  },

  selectableFields: { 'status.phase': (namespace) => namespace.status?.phase ?? '' },
  columns: [
    nameColumn,
    { name: 'Status', description: 'Active, or Terminating while the contents are deleted.' },
    ageColumn,
  ],
  cells: (namespace) => [namespace.metadata.name, namespace.status?.phase ?? '', ageCell(namespace)],
});
