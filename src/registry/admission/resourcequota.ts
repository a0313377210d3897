/** ResourceQuota: no write takes a namespace over its quota. Last in the chain, because it counts what is stored. */
import { subresourceOf } from '../target.ts';
import type { AdmissionPlugin } from './admission.ts';

export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',

  validate(registry, admission) {
    const { operation, target } = admission;
    const subresource = subresourceOf(target.part);
    if (operation === 'delete' || !target.kind.namespaced || (subresource && subresource !== 'resize'))
      return;
    return registry.quotas.admit(admission);
  },
};
