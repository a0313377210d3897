/** ResourceQuota: no write takes a namespace over its quota. Last in the chain, because it counts what is stored. */
import type { AdmissionPlugin } from './admission.ts';

export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',

  validate(registry, request) {
    const { operation, kind, subresource } = request;
    if (operation === 'delete' || !kind.namespaced || (subresource && subresource !== 'resize')) return;
    return registry.quotas.admit(request);
  },
};
