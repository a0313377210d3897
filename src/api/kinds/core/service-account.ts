/** ServiceAccount: the identity of a pod at the API. */
import type { ServiceAccount } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';

/** Secrets of an account are in its namespace, so only their names are kept; other fields are dropped. */
function cutSecrets(account: ServiceAccount): void {
  account.secrets = account.secrets?.map(({ name }) => ({ name }));
}

export const serviceAccount = defineKind<ServiceAccount>({
  kind: 'ServiceAccount',
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  namespaced: true,
  subresources: [
    {
      name: 'token',
      kind: 'TokenRequest',
      group: 'authentication.k8s.io',
      version: 'v1',
      verbs: ['create'],
    },
  ],
  deleteReturnsObject: true,

  prepareForCreate: cutSecrets,
  prepareForUpdate: cutSecrets,

  columns: [nameColumn, ageColumn],
  cells: (account) => [account.metadata.name, ageCell(account)],
});
