/** Service: one address for a set of pods. */
import type { Service } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import { labelName } from '../names.ts';

export const service = defineKind<Service>({
  kind: 'Service',
  resource: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  nameRule: labelName,
  subresources: [statusSubresource],
  createOnUpdate: true,
  deleteReturnsObject: true,

  selectableFields: {
    'spec.clusterIP': (service) => service.spec?.clusterIP ?? '',
    'spec.type': (service) => service.spec?.type ?? '',
  },
});
