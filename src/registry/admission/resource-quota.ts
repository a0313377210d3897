/** ResourceQuota: rejects writes that would exceed a quota. Last in the chain, because it counts the final object. */

import type { AdmissionPlugin } from '../admission-chain.ts';
import { subresourceOf } from '../target.ts';
import type { QuotaAccounts } from './quota-accounts.ts';

export const resourceQuota = (accounts: QuotaAccounts): AdmissionPlugin => ({
  name: 'ResourceQuota',

  validate(_registry, admission) {
    const { operation, target } = admission;
    const subresource = subresourceOf(target.part);
    if (operation === 'delete' || !target.kind.namespaced || (subresource && subresource !== 'resize'))
      return;
    return accounts.admit(admission);
  },
});
