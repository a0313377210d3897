/** HorizontalPodAutoscaler: sets the number of replicas from how busy they are. */
import type { HorizontalPodAutoscaler } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const horizontalPodAutoscaler = defineKind<HorizontalPodAutoscaler>({
  kind: 'HorizontalPodAutoscaler',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],
});
