/** LimitRange: bounds and defaults for the resources of one namespace. */
import type { LimitRange } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const limitRange = defineKind<LimitRange>({
  kind: 'LimitRange',
  resource: 'limitranges',
  singular: 'limitrange',
  shortNames: ['limits'],
  namespaced: true,
  createOnUpdate: true,
});
