/** ServiceAccount: who the processes in a pod are. */
import type { ServiceAccount } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const serviceAccount = defineKind<ServiceAccount>({
  kind: 'ServiceAccount',
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  namespaced: true,
  deleteReturnsObject: true,
});
