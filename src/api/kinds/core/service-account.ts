/** ServiceAccount: the identity of a pod at the API. */
import type { ObjectMeta, ServiceAccount } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';

const mountableSecrets = 'kubernetes.io/enforce-mountable-secrets';

const hasAnnotation = ({ annotations }: ObjectMeta): boolean =>
  annotations !== undefined && Object.hasOwn(annotations, mountableSecrets);

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
  deletion: { returnsObject: true },

  prepareForCreate: cutSecrets,
  prepareForUpdate: cutSecrets,
  warnings: ({ metadata }, old) =>
    hasAnnotation(metadata) && !(old && hasAnnotation(old.metadata))
      ? [
          `metadata.annotations[${mountableSecrets}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
        ]
      : [],

  columns: [nameColumn, ageColumn],
  cells: (account) => [account.metadata.name, ageCell(account)],
});
