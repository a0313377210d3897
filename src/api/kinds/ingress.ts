/** Ingress: lets outside HTTP traffic reach services. */
import type { Ingress } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const ingress = defineKind<Ingress>({
  kind: 'Ingress',
  resource: 'ingresses',
  singular: 'ingress',
  shortNames: ['ing'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],
  generationOf: 'spec',
});
