/** Lease: a lock with a holder and an expiry, for leader election and heartbeats of nodes. */
import { invalid } from '../../errors/field-error.ts';
import type { Lease, LeaseSpec } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import { collect, type Findings, negative } from '../../rules/shared/findings.ts';

function* specErrors({ leaseDurationSeconds, leaseTransitions }: LeaseSpec): Findings {
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
    yield invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0');
  yield* negative('spec.leaseTransitions', leaseTransitions);
}

export const lease = defineKind<Lease>({
  kind: 'Lease',
  resource: 'leases',
  singular: 'lease',
  group: 'coordination.k8s.io',
  version: 'v1',
  table: 'coordination-v1',
  namespaced: true,
  untracked: true,
  createOnUpdate: true,

  validate: ({ spec = {} }) => collect(specErrors(spec)),
  // Updates need a resourceVersion: otherwise two holders could overwrite each other, and both believe to hold it.
  validateUpdate: ({ metadata }) =>
    Number(metadata.resourceVersion)
      ? []
      : [invalid('metadata.resourceVersion', 0, 'must be specified for an update')],

  columns: [nameColumn, { name: 'Holder', description: 'Who holds the lease.' }, ageColumn],
  cells: (lease) => [lease.metadata.name, lease.spec?.holderIdentity ?? '', ageCell(lease)],
});
