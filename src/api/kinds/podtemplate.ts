/** PodTemplate: a pod to be made later. */
import type { PodTemplate } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const podTemplate = defineKind<PodTemplate>({
  kind: 'PodTemplate',
  resource: 'podtemplates',
  singular: 'podtemplate',
  namespaced: true,
  deleteReturnsObject: true,
  generationOf: 'template',
});
