/** ResourceQuota: no write takes a namespace over its quota. Last in the chain, because it counts what is stored. */
import type { AdmissionPlugin } from './admission.ts';

export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',

  validate(registry, request) {
    if (request.operation === 'delete' || !request.kind.namespaced || request.subresource) return;
    return registry.quotas.admit(request);
  },
};
